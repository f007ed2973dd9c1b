package parse

func (j *job) pdf(data []byte) (Document, error) { return Document{}, ErrNoText }
