"""OpenVINO for irbench."""
