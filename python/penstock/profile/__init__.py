"""What a pipeline does while it runs, and what slows it down."""
