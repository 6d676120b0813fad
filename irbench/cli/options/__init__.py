"""What options take: types, shared options, completion, and the frame of commands."""
