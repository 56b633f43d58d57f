"""From what people upload to what is shown: recognised here, decoded in processes of their own, kept by name."""
