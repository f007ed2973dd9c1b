package main

func (s *suite) registryRows() []row { return nil }
