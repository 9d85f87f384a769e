"""Episodes in processes of their own: what an adapter does to its process, it does to one episode."""
