"""Models to bundles: decides what is to be made, has workers make and check it, and puts it in its place."""
