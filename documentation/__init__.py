"""The documentation site: what is made of declarations for it, and how it is built."""
