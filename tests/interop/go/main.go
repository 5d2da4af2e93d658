// Programs on franz-go that report what they do in JSON, one object a line.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kerr"
)

type facts map[string]any

var programs = map[string]func(arguments []string) error{
	"member": runMember,
	"admin":  runAdmin,
}

func main() {
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: interop member|admin OPTIONS")
		os.Exit(2)
	}
	if err := programs[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Called from the goroutines of several callbacks: a line goes out in one write.
func report(name string, what facts) {
	what["name"] = name
	line, err := json.Marshal(what)
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(line, '\n'))
}

// errorName is Kafka's name of the error, or NONE.
func errorName(err error) string {
	var known *kerr.Error
	switch {
	case err == nil:
		return "NONE"
	case errors.As(err, &known):
		return known.Message
	default:
		return err.Error()
	}
}
