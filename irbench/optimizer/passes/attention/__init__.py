"""The passes about attention: fusing it, and splitting and packing what graphs join or divide."""
