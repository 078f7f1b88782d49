package output

// Beside has nothing to do: there is no guard whose lines it could be about.
func (p *Printer) Beside() {}

type besideWriter struct{}

func (besideWriter) write(string) {}
func (besideWriter) wait()        {}
