"""Parts of `dfah.demo`: policies, tools and the agents built from them."""
