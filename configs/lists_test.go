package configs

import "strings"

// Filled puts lists into the text of a message: {privacy} stands for the keys of a section,
// {optimizer.name} for what can be chosen as the value of a key, {only optimizer.beta1} for where it
// means something, {layers} for the names of layers.
// A table that gets another row leaves the tests as they are.
func Filled(text string) string {
	lists := []string{"{layers}", strings.Join(layerKinds.Names(), ", ")}
	sections := map[string]bool{"": true}
	for _, f := range fields {
		section, _ := f.split()
		sections[section] = true
		if f.only != nil {
			lists = append(lists, "{only "+f.path+"}", f.only.String())
		}
		if names, ok := f.format.(interface{ Names() []string }); ok {
			lists = append(lists, "{"+f.path+"}", strings.Join(names.Names(), ", "))
		}
	}
	for section := range sections {
		lists = append(lists, "{"+section+"}", strings.Join(children(section), ", "))
	}
	return strings.NewReplacer(lists...).Replace(text)
}
