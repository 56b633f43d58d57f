"""What other servers send and hold: fetched, proven, and done here by the actors of their accounts."""
