package mcpclient_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plugberth/plugberth/mcpclient"
	"github.com/plugberth/plugberth/plugin"
)

// pinned starts only what stands in one directory, and leaves the rest to the
// launcher that it wraps.
type pinned struct {
	mcpclient.Launcher
	dir string
}

func (p pinned) Launch(ctx context.Context, l mcpclient.Launch) (mcpclient.Process, error) {
	l.Path = p.dir // a bare program is looked up there and nowhere else
	return p.Launcher.Launch(ctx, l)
}

// A launcher can wrap the local one; one that runs containers implements
// [mcpclient.Process] as well.
func ExampleLauncher() {
	launcher := pinned{mcpclient.Local{}, "/opt/agent/bin"}
	_, err := launcher.Launch(context.Background(), mcpclient.Launch{
		Plan: plugin.LaunchPlan{Program: "some-server", Dir: "/"},
	})
	fmt.Println(err)
	// Output:
	// "some-server" is in no directory of PATH: install it, or have PATH name its directory
}

// A host gives its servers one variable more than the default.
func ExampleBaseEnviron() {
	os.Setenv("SECRET_OF_THE_HOST", "x")
	environ := append(mcpclient.BaseEnviron(), "HTTPS_PROXY=http://proxy.example.com:3128")
	for _, e := range environ {
		if strings.HasPrefix(e, "SECRET") || strings.HasPrefix(e, "HTTPS_PROXY") {
			fmt.Println(e)
		}
	}
	// Output:
	// HTTPS_PROXY=http://proxy.example.com:3128
}

func ExampleRemoveData() {
	base, err := os.MkdirTemp("", "example-*")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(base)
	instance := plugin.Instance{Tenant: "acme", ID: "reports@1"}
	dir, err := plugin.DataDir(base, instance)
	if err != nil {
		fmt.Println(err)
		return
	}
	os.MkdirAll(filepath.Join(dir, "cache"), 0o700) // by its servers

	fmt.Println(mcpclient.RemoveData(base, instance)) // on uninstall
	_, err = os.Stat(dir)
	fmt.Println(os.IsNotExist(err))
	// Output:
	// <nil>
	// true
}
