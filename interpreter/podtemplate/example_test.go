package podtemplate_test

import (
	"fmt"

	"github.com/kubeinterpret/interpret/interpreter/podtemplate"
)

func ExampleRequirements() {
	template := map[string]any{"spec": map[string]any{
		"containers": []any{
			map[string]any{"name": "app", "resources": map[string]any{"requests": map[string]any{"cpu": "100m"}}},
		},
		"initContainers": []any{
			map[string]any{"name": "proxy", "restartPolicy": "Always", "resources": map[string]any{"requests": map[string]any{"cpu": "200m"}}},
			map[string]any{"name": "migrate", "resources": map[string]any{"limits": map[string]any{"cpu": "300m"}}},
		},
		"nodeSelector": map[string]any{"disk": "ssd"},
	}}
	r, err := podtemplate.Requirements(template)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.ResourceRequest.Cpu(), r.NodeClaim.NodeSelector)
	// Output: 500m map[disk:ssd]
}

func ExampleDependencies() {
	template := map[string]any{"spec": map[string]any{
		"serviceAccountName": "robot",
		"containers": []any{
			map[string]any{"name": "app", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "settings"}}}},
		},
		"volumes": []any{map[string]any{"name": "data", "persistentVolumeClaim": map[string]any{"claimName": "data"}}},
	}}
	refs, err := podtemplate.Dependencies(template, "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range refs {
		fmt.Println(r.Kind, r.Namespace+"/"+r.Name)
	}
	// Output:
	// ConfigMap shop/settings
	// PersistentVolumeClaim shop/data
	// ServiceAccount shop/robot
}
