package output

// Windows has no need of this: nobody calls Beside there.
type besideWriter struct{}

func (besideWriter) write(string) {}
func (besideWriter) wait()        {}
