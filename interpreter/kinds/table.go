package kinds

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

// table is all that is known at a time. It does not change.
type table struct {
	// all are the resources by priority.
	all    []*Resource
	byKind map[schema.GroupVersionKind]*Resource
	byName map[schema.GroupVersionResource]*Resource

	// mapper maps kinds, and resources by their plural and singular. The others know the plural and another name:
	// each short name of a resource stands in one of the mappers of shortNames; kinds are those in lower case.
	mapper            meta.MultiRESTMapper
	shortNames, kinds meta.MultiRESTMapper
	categories        map[string][]*Resource
	standard          map[string]bool
	whole             map[schema.GroupVersion]bool
	complete          bool
	failed            map[schema.GroupVersion]error
}

// newTable puts listings together. A resource is as the first of them has it.
func newTable(listings []*listing, standardGroups map[string]bool) *table {
	t := &table{
		byKind:     map[schema.GroupVersionKind]*Resource{},
		byName:     map[schema.GroupVersionResource]*Resource{},
		categories: map[string][]*Resource{},
		standard:   standardGroups,
		whole:      map[schema.GroupVersion]bool{},
		failed:     map[schema.GroupVersion]error{},
	}
	for _, g := range merge(listings) {
		t.addGroup(g)
	}
	for _, l := range listings {
		t.complete = t.complete || l.complete
		for gv, err := range l.failed {
			t.failed[gv] = err
		}
		if !l.whole {
			continue
		}
		for _, g := range l.groups {
			for _, r := range g.resources {
				t.whole[r.Name.GroupVersion()] = true
			}
		}
	}
	t.addMappers()
	return t
}

// merge joins groups of one name, and puts the core group first.
func merge(listings []*listing) []*group {
	var merged []*group
	byName := map[string]*group{}
	for _, l := range listings {
		for _, from := range l.groups {
			g := byName[from.name]
			if g == nil {
				g = &group{name: from.name}
				byName[g.name] = g
				merged = append(merged, g)
			}
			g.preferred = cmp.Or(g.preferred, from.preferred)
			g.resources = append(g.resources, from.resources...)
		}
	}
	slices.SortStableFunc(merged, func(a, b *group) int {
		return cmp.Compare(min(len(a.name), 1), min(len(b.name), 1))
	})
	return merged
}

// addGroup adds resources in the order of their versions.
func (t *table) addGroup(g *group) {
	resources := slices.Clone(g.resources)
	slices.SortStableFunc(resources, func(a, b *Resource) int {
		if a.Name.Version == b.Name.Version {
			return 0
		}
		if a.Name.Version == g.preferred {
			return -1
		}
		if b.Name.Version == g.preferred {
			return 1
		}
		return -version.CompareKubeAwareVersionStrings(a.Name.Version, b.Name.Version)
	})
	preferred := map[string]bool{}
	for _, shared := range resources {
		if t.byName[shared.Name] != nil {
			continue
		}
		r := *shared // What a source lists may be in other tables, too.
		r.rank = len(t.all)
		r.Standard = t.standard[g.name]
		r.Preferred = !preferred[r.Name.Resource]
		preferred[r.Name.Resource] = true
		t.all = append(t.all, &r)
		t.byName[r.Name] = &r
		// Some servers give one kind for several resources. The one that holds the objects can be listed.
		if other := t.byKind[r.Kind]; other == nil || !other.HasVerb("list") && r.HasVerb("list") {
			t.byKind[r.Kind] = &r
		}
		if r.Preferred {
			for _, category := range r.Categories {
				category = strings.ToLower(category)
				t.categories[category] = append(t.categories[category], &r)
			}
		}
	}
}

// addMappers gives all names to apimachinery's mappers.
func (t *table) addMappers() {
	var order []schema.GroupVersion
	shortNames := 0
	for _, r := range t.all {
		if gv := r.Name.GroupVersion(); len(order) == 0 || order[len(order)-1] != gv {
			order = append(order, gv)
		}
		shortNames = max(shortNames, len(r.ShortNames))
	}
	mapper, kinds := meta.NewDefaultRESTMapper(order), meta.NewDefaultRESTMapper(order)
	short := make([]*meta.DefaultRESTMapper, shortNames)
	for i := range short {
		short[i] = meta.NewDefaultRESTMapper(order)
		t.shortNames = append(t.shortNames, short[i])
	}
	add := func(r *Resource) {
		gv := r.Name.GroupVersion()
		mapper.AddSpecific(r.Kind, r.Name, gv.WithResource(strings.ToLower(r.Singular)), r.Scope())
		kinds.AddSpecific(r.Kind, r.Name, gv.WithResource(strings.ToLower(r.Kind.Kind)), r.Scope())
		for i, name := range r.ShortNames {
			short[i].AddSpecific(r.Kind, r.Name, gv.WithResource(strings.ToLower(name)), r.Scope())
		}
	}
	// Of two resources with one kind, a mapper keeps the one that is added last.
	for _, r := range t.all {
		if t.byKind[r.Kind] != r {
			add(r)
		}
	}
	for _, r := range t.all {
		if t.byKind[r.Kind] == r {
			add(r)
		}
	}
	t.mapper, t.kinds = meta.MultiRESTMapper{mapper}, meta.MultiRESTMapper{kinds}
}

// named lists what has a partial name, by priority: as plural or singular, else as a short name, else, if that
// counts, as a kind.
func (t *table) named(partial schema.GroupVersionResource, orKind bool) []*Resource {
	mappers := []meta.MultiRESTMapper{t.mapper, t.shortNames}
	if orKind {
		mappers = append(mappers, t.kinds)
	}
	for _, m := range mappers {
		if list := t.namedIn(m, partial); len(list) > 0 {
			return list
		}
	}
	return nil
}

// namedIn lists what has a partial name in a mapper, by priority. A group that is named in full is not the beginning
// of another.
func (t *table) namedIn(m meta.MultiRESTMapper, partial schema.GroupVersionResource) []*Resource {
	// The only errors that there can be are that there is no match, and that no resource is given.
	names, _ := m.ResourcesFor(partial)
	if len(names) == 0 {
		return nil
	}
	list := make([]*Resource, len(names))
	for i, name := range names {
		list[i] = t.byName[name]
	}
	slices.SortFunc(list, byRank)
	if partial.Group != "" && slices.ContainsFunc(list, func(r *Resource) bool { return r.Name.Group == partial.Group }) {
		list = slices.DeleteFunc(list, func(r *Resource) bool { return r.Name.Group != partial.Group })
	}
	return list
}

func byRank(a, b *Resource) int { return cmp.Compare(a.rank, b.rank) }

// first finds the one that is meant among several by priority, or gives those between which nothing decides.
func first(list []*Resource) (*Resource, []*Resource) {
	best := list[0]
	var rivals []*Resource
	groups := map[string]bool{best.Name.Group: true}
	for _, r := range list[1:] {
		switch {
		case r.Name.GroupVersion() == best.Name.GroupVersion():
			rivals = append(rivals, r)
		case !best.Standard && !groups[r.Name.Group]:
			rivals = append(rivals, r)
		}
		groups[r.Name.Group] = true
	}
	if len(rivals) > 0 {
		return nil, append([]*Resource{best}, rivals...)
	}
	return best, nil
}
