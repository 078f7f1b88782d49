package fallback

func reason(err error) string { return err.Error() }
