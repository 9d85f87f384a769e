"""A provider on this machine that speaks the OpenAI and Anthropic protocols and misbehaves on request."""
