package dispatch

// Problem is one thing that preflight found.
type Problem struct {
	// Context is where it is.
	Context string
	// Blocking is whether nothing can be created before it is solved; others are
	// warnings.
	Blocking bool
	// Object is what it is about, such as "ConfigMap ml/settings"; "" for the Job.
	Object string
	// Message says what is wrong, and Remedy what to do, with whole commands.
	Message, Remedy string
}
