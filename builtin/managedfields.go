package builtin

// managedFields are the sets of fields that managers have asked for, one for each manager, in the format of
// https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management. What an API server fills in
// by itself after that belongs to nobody.
type managedFields []map[string]any

// managedFieldsOf reads the record of an object below one of its fields. What a controller has written through a
// subresource was not asked for.
func managedFieldsOf(obj map[string]any, name string) (managedFields, error) {
	var all managedFields
	err := eachAt(obj, func(entry map[string]any) error {
		subresource, err := textAt(entry, "subresource")
		if err != nil || subresource != "" {
			return err
		}
		fields, err := mapAt(entry, "fieldsV1")
		if fields != nil {
			all = append(all, fields)
		}
		return err
	}, "metadata", "managedFields")
	return all.at("f:" + name), err
}

// at are the sets below a path. Managers that have none are left out.
func (m managedFields) at(path ...string) managedFields {
	var below managedFields
	for _, fields := range m {
		if v, err := mapAt(fields, path...); v != nil && err == nil {
			below = append(below, v)
		}
	}
	return below
}

// known says whether any manager has a set here. Nothing can be told from a record that nobody keeps.
func (m managedFields) known() bool { return len(m) > 0 }

// has says whether any manager has asked for a field.
func (m managedFields) has(name string) bool {
	for _, fields := range m {
		if fields[name] != nil {
			return true
		}
	}
	return false
}
