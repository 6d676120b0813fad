"""What is measured instead of one call after the other: cold starts, requests, texts, training steps, and what runs beside."""
