"""What rules read off documents: policies, expressions, quotas, amounts."""
