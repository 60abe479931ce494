// Multitenant is a host that serves several tenants. Each has plugins, servers,
// credentials, data and agents of its own, and sees nothing of another's, also
// where two have installed the same plugin under the same name.
//
// Usage:
//
//	multitenant
//
// It plays a scene with two tenants, a plugin whose server is this program itself,
// and an agent of each tenant, connected over HTTP. It prints what happens, ends
// by itself and leaves nothing behind.
//
// What keeps tenants apart stands in tenant.go, and what they share in service.go.
//
// The exit status is 0, or 2 with the reason on standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plugberth/plugberth/plugin/finding"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == serveNotes {
		os.Exit(runNotes(ctx, os.Args[2:], os.Stderr))
	}
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// The exit statuses.
const (
	statusOK     = 0
	statusFailed = 2
)

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("multitenant", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprintln(stderr, "usage: multitenant") }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return statusOK
		}
		return statusFailed
	}
	if flags.NArg() > 0 {
		flags.Usage()
		return statusFailed
	}
	if err := play(ctx, stdout); err != nil {
		fmt.Fprintf(stderr, "multitenant: %s\n", finding.Escape(err.Error()))
		return statusFailed
	}
	return statusOK
}

// play plays the scene in a directory of its own, which it removes.
func play(ctx context.Context, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "plugberth-multitenant-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := serve(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close(ctx)) }()
	return scene(ctx, out, s)
}
