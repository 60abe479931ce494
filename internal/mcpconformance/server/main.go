// Server lets the official MCP conformance suite check mcpserver. It serves one
// grant with everything that the suite asks for, and adds the grant's token to
// each request, because the suite has no way to send one.
//
// It prints the URL, and serves until it is ended.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
	"github.com/plugberth/plugberth/mcpserver"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "listen on `HOST:PORT`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) error {
	registry, err := mcpserver.New(mcpserver.Options{
		// The suite opens more and asks faster than one agent does.
		Limits: mcpserver.Limits{Sessions: 1000, Calls: 100, Requests: 1000, Rate: 10_000, Burst: 10_000},
	})
	if err != nil {
		return err
	}
	store := new(channel.MemoryStore)
	minted, err := registry.Mint(mcpserver.Grant{
		Identity:      mcpserver.Identity{Task: "conformance"},
		Channel:       channel.Of(channel.NewBuffered(store)),
		ServerOptions: options,
		Configure:     func(srv *mcp.Server) { configure(ctx, srv) },
	})
	if err != nil {
		return err
	}
	bearer := "Bearer " + minted.Token.Reveal()
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", bearer)
			registry.ServeHTTP(w, r)
		}),
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
