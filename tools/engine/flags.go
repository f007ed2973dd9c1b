package main

import "flag"

// parseAround parses args. It takes the file after "-o json" first, because the flag package
// would treat it as the first argument.
func parseAround(flags *flag.FlagSet, args []string, o *options) ([]string, error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if !o.json || o.file != "" || len(rest) == 0 {
			return rest, nil
		}
		o.file, args = rest[0], rest[1:]
	}
}
