"""What an expression may cost before it is run: cel-go's static estimate."""
