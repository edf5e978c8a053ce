package naming

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dpsgd/model"
)

// rule names parameters of the layers of a kind.
type rule struct {
	kind string
	own  string // the part of the layer, such as ".norm1"; "" is all of it
	// theirs says what the part is called in files, with {module} and {block} of the layer's place.
	// Several make up one parameter.
	theirs []string
	lead   int  // so many axes of length 1 stand in front of the shape in files
	head   bool // the layer gives the logits
}

// families lists all families: to add one, write its rules. The first that knows the network and a
// name of the file is taken.
var families = []Family{
	{Name: "timm", beside: []string{"num_batches_tracked"}, rules: []rule{ // and torchvision's ResNets
		{kind: "conv2d", theirs: []string{"{module}"}},
		{kind: "frozen_batch_norm", theirs: []string{"{module}"}},
		{kind: "group_norm", theirs: []string{"{module}"}},
		{kind: "linear", theirs: []string{"fc"}, head: true},
	}},
	{Name: "timm", rules: slices.Concat([]rule{
		{kind: "patch_embedding", theirs: []string{"patch_embed.proj"}},
		{kind: "class_token", own: ".token", theirs: []string{"cls_token"}, lead: 2},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"pos_embed"}, lead: 1},
		{kind: "layer_norm", theirs: []string{"norm"}},
		{kind: "linear", theirs: []string{"head"}, head: true},
	}, block("blocks.{block}.", "norm1", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2", "attn.qkv"))},
	{Name: "huggingface", prefix: "vit.", beside: []string{"pooler."}, rules: slices.Concat([]rule{
		{kind: "patch_embedding", theirs: []string{"embeddings.patch_embeddings.projection"}},
		{kind: "class_token", own: ".token", theirs: []string{"embeddings.cls_token"}, lead: 2},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"embeddings.position_embeddings"}, lead: 1},
		{kind: "layer_norm", theirs: []string{"layernorm"}},
		{kind: "linear", theirs: []string{"classifier"}, head: true},
	}, block("encoder.layer.{block}.", "layernorm_before", "attention.output.dense", "layernorm_after", "intermediate.dense", "output.dense",
		"attention.attention.query", "attention.attention.key", "attention.attention.value"))},
}

// block returns the rules of a transformer's block, whose names begin with at. qkv names the
// projections to queries, keys and values, or the one to all three.
func block(at, norm1, projection, norm2, linear1, linear2 string, qkv ...string) []rule {
	of := func(own string, theirs ...string) rule {
		names := slices.Clone(theirs)
		for i := range names {
			names[i] = at + names[i]
		}
		return rule{kind: "transformer_encoder", own: own, theirs: names}
	}
	with := func(last string) []string {
		names := slices.Clone(qkv)
		for i := range names {
			names[i] += last
		}
		return names
	}
	return []rule{
		of(".norm1", norm1), of(".self_attn.in_proj_weight", with(".weight")...), of(".self_attn.in_proj_bias", with(".bias")...),
		of(".self_attn.out_proj", projection), of(".norm2", norm2), of(".linear1", linear1), of(".linear2", linear2),
	}
}

// place says where a layer with parameters stands in the network.
type place struct {
	name, kind string
	block      string // its number among the transformer's blocks
	module     string // its name in a ResNet, such as "layer1.0.conv2"; "" if it has none there
}

// names returns the names in files of a parameter of the network; nil if the rule is not about it.
func (r rule) names(layers []place, parameter string) (names []string) {
	for _, l := range layers {
		last, inside := strings.CutPrefix(parameter, l.name+r.own)
		if l.kind != r.kind || !inside || last != "" && last[0] != '.' {
			continue
		}
		for _, theirs := range r.theirs {
			if strings.Contains(theirs, "{module}") && l.module == "" {
				return nil
			}
			names = append(names, strings.NewReplacer("{module}", l.module, "{block}", l.block).Replace(theirs)+last)
		}
		return names
	}
	return nil
}

// short maps kinds to the first part of their names in a ResNet.
var short = map[string]string{"conv2d": "conv", "frozen_batch_norm": "bn", "group_norm": "bn"}

// placesOf lists the places of the layers that stand in no other layer than a residual one. In a
// ResNet, a residual layer with a shortcut begins the next stage, as the first residual layer does.
func placesOf(layers []model.LayerInfo) (places []place) {
	stage, residual, blocks, within := 0, 0, 0, ""
	number := map[string]int{}
	for _, l := range layers {
		p := place{name: l.Name, kind: l.Kind, block: strconv.Itoa(blocks)}
		parts := strings.Split(l.Name, ".")
		switch {
		case len(parts) == 1 && l.Kind == "residual":
			if stage == 0 || slices.ContainsFunc(layers, func(o model.LayerInfo) bool { return strings.HasPrefix(o.Name, l.Name+".shortcut.") }) {
				stage, residual = stage+1, -1
			}
			residual++
			within, number = fmt.Sprintf("layer%d.%d.", stage, residual), map[string]int{}
			continue
		case len(parts) == 1 && l.Kind == "transformer_encoder":
			blocks++
		case len(parts) == 3 && parts[1] == "shortcut":
			p.module = within + "downsample." + parts[2]
		case (len(parts) == 1 && stage == 0 || len(parts) == 3 && parts[1] == "body") && short[l.Kind] != "":
			number[l.Kind]++
			p.module = within + short[l.Kind] + strconv.Itoa(number[l.Kind])
		case len(parts) > 1:
			continue // within a layer that is named as a whole
		}
		places = append(places, p)
	}
	return places
}
