"""What a coordinator and a worker tell each other, and how it is written."""
