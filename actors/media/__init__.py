"""Media: uploads are recognised, decoded in processes of their own, and stored by name."""
