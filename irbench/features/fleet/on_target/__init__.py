"""What runs on a target of a fleet: calls of the coordinator, the files it sent, and the processes of jobs."""
