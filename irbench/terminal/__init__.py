"""What commands share on a terminal: options made of their declarations, and where output goes."""
