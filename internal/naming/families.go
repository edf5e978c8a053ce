package naming

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dpsgd/model"
)

// rule names parameters of the layers of some kinds.
type rule struct {
	kind string // several have spaces between them
	own  string // the part of the layer, such as ".norm1"; "" is all of it
	// theirs says what the part is called in files, with {module} and {block} of the layer's place.
	// Several make up one parameter.
	theirs []string
	lead   int    // so many axes of length 1 stand in front of the shape in files
	head   bool   // the layer gives the logits
	longer bool   // files may have further rows, which are left out
	types  string // a table of files whose first row is part of every row of the parameter
}

// asLoaded turns the names that a vision transformer of transformers 5 has in memory into those of
// its files; tensorFlow those of files that TensorFlow wrote into PyTorch's.
var asLoaded = strings.NewReplacer("layers.", "encoder.layer.", "attention.q_proj", "attention.attention.query", "attention.k_proj", "attention.attention.key",
	"attention.v_proj", "attention.attention.value", "attention.o_proj", "attention.output.dense", "mlp.fc1", "intermediate.dense", "mlp.fc2", "output.dense")
var tensorFlow = strings.NewReplacer("LayerNorm.gamma", "LayerNorm.weight", "LayerNorm.beta", "LayerNorm.bias")

// families lists all families: to add one, write its rules. The first that knows the network and a
// name of the file is taken.
var families = []Family{
	{Name: "timm", beside: []string{"num_batches_tracked"}, rules: []rule{ // and torchvision's ResNets
		{kind: "conv2d frozen_batch_norm group_norm", theirs: []string{"{module}"}},
		{kind: "linear", theirs: []string{"fc"}, head: true},
	}},
	{Name: "timm", outline: visionTransformer, rules: slices.Concat([]rule{
		{kind: "patch_embedding", theirs: []string{"patch_embed.proj"}},
		{kind: "class_token", own: ".token", theirs: []string{"cls_token"}, lead: 2},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"pos_embed"}, lead: 1},
		{kind: "layer_norm", theirs: []string{"norm"}},
		{kind: "linear", theirs: []string{"head"}, head: true},
	}, block("blocks.{block}.", "norm1", "attn.proj", "norm2", "mlp.fc1", "mlp.fc2", "attn.qkv"))},
	{Name: "huggingface", outline: visionTransformer, prefix: "vit.", also: asLoaded, beside: []string{"pooler."}, rules: slices.Concat([]rule{
		{kind: "patch_embedding", theirs: []string{"vit.embeddings.patch_embeddings.projection"}},
		{kind: "class_token", own: ".token", theirs: []string{"vit.embeddings.cls_token"}, lead: 2},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"vit.embeddings.position_embeddings"}, lead: 1},
		{kind: "layer_norm", theirs: []string{"vit.layernorm"}},
		{kind: "linear", theirs: []string{"classifier"}, head: true},
	}, block("vit.encoder.layer.{block}.", "layernorm_before", "attention.output.dense", "layernorm_after", "intermediate.dense", "output.dense",
		"attention.attention.query", "attention.attention.key", "attention.attention.value"))},
	{Name: "huggingface", outline: bert, prefix: "bert.", also: tensorFlow, beside: []string{"cls.", "position_ids"}, rules: slices.Concat([]rule{
		{kind: "embedding", theirs: []string{"bert.embeddings.word_embeddings"}},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"bert.embeddings.position_embeddings.weight"}, longer: true, types: "bert.embeddings.token_type_embeddings.weight"},
		{kind: "layer_norm", theirs: []string{"bert.embeddings.LayerNorm"}},
		{kind: "linear", theirs: []string{"bert.pooler.dense"}},
		{kind: "linear", theirs: []string{"classifier"}, head: true},
	}, block("bert.encoder.layer.{block}.", "attention.output.LayerNorm", "attention.output.dense", "output.LayerNorm", "intermediate.dense", "output.dense",
		"attention.self.query", "attention.self.key", "attention.self.value"))},
	{Name: "huggingface", outline: distilBERT, prefix: "distilbert.", also: tensorFlow, beside: []string{"vocab_", "position_ids"}, rules: slices.Concat([]rule{
		{kind: "embedding", theirs: []string{"distilbert.embeddings.word_embeddings"}},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"distilbert.embeddings.position_embeddings.weight"}, longer: true},
		{kind: "layer_norm", theirs: []string{"distilbert.embeddings.LayerNorm"}},
		{kind: "linear", theirs: []string{"pre_classifier"}},
		{kind: "linear", theirs: []string{"classifier"}, head: true},
	}, block("distilbert.transformer.layer.{block}.", "sa_layer_norm", "attention.out_lin", "output_layer_norm", "ffn.lin1", "ffn.lin2",
		"attention.q_lin", "attention.k_lin", "attention.v_lin"))},
	{Name: "huggingface", outline: gpt2, turned: true, prefix: "transformer.", beside: []string{".attn.bias", ".attn.masked_bias", "lm_head.weight"}, rules: slices.Concat([]rule{
		{kind: "embedding", theirs: []string{"transformer.wte"}},
		{kind: "positional_embedding", own: ".weight", theirs: []string{"transformer.wpe.weight"}, longer: true},
		{kind: "layer_norm", theirs: []string{"transformer.ln_f"}},
		{kind: "linear", own: ".weight", theirs: []string{"score.weight"}, head: true},
	}, block("transformer.h.{block}.", "ln_1", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj", "attn.c_attn"))},
}

// Outlines of networks, see outlineOf.
var (
	visionTransformer = regexp.MustCompile(`^patch_embedding class_token positional_embedding ` + before + `+layer_norm first_of_sequence linear $`)
	bert              = regexp.MustCompile(`^embedding positional_embedding layer_norm ` + behind + `+first_of_sequence linear tanh linear $`)
	distilBERT        = regexp.MustCompile(`^embedding positional_embedding layer_norm ` + behind + `+first_of_sequence linear relu linear $`)
	gpt2              = regexp.MustCompile(`^embedding positional_embedding ` + causal + `+layer_norm last_of_sequence linear $`)
)

// inWords turns an outline into words.
var inWords = strings.NewReplacer("^", "", " $", "", "(", "blocks of (", " )+", ") ")

// Outlines of a block: with its normalisations before each half, before each half of a causal one, or
// behind each.
const (
	before = `(transformer_encoder layer_norm attention layer_norm linear gelu linear )`
	causal = `(transformer_encoder layer_norm causal_attention layer_norm linear gelu_tanh linear )`
	behind = `(transformer_encoder attention layer_norm linear gelu linear layer_norm )`
)

// outlineOf lists the kinds of the layers of a network, with those in a layer behind it, as they
// follow each other in prediction.
func outlineOf(layers []model.LayerInfo) (outline string) {
	for _, l := range layers {
		if l.Causal {
			outline += "causal_"
		}
		if l.Kind != (model.Dropout{}).Kind() {
			outline += l.Kind + " "
		}
	}
	return outline
}

// block returns the rules of a transformer's block, whose names begin with at. qkv names the
// projections to queries, keys and values, or the one to all three.
func block(at, norm1, projection, norm2, linear1, linear2 string, qkv ...string) []rule {
	of := func(own, last string, theirs ...string) rule {
		names := make([]string, len(theirs))
		for i, name := range theirs {
			names[i] = at + name + last
		}
		return rule{kind: "transformer_encoder", own: own, theirs: names}
	}
	return []rule{
		of(".norm1", "", norm1), of(".self_attn.in_proj_weight", ".weight", qkv...), of(".self_attn.in_proj_bias", ".bias", qkv...),
		of(".self_attn.out_proj", "", projection), of(".norm2", "", norm2), of(".linear1", "", linear1), of(".linear2", "", linear2),
	}
}

// place says where a layer with parameters stands in the network.
type place struct {
	name, kind string
	block      string // its number among the transformer's blocks
	module     string // its name in a ResNet, such as "layer1.0.conv2"; "" if it has none there
	head       bool   // the network ends with it
}

// names returns the names in files of a parameter of the network; nil if the rule is not about it.
func (r rule) names(layers []place, parameter string) (names []string) {
	for _, l := range layers {
		last, inside := strings.CutPrefix(parameter, l.name+r.own)
		if !slices.Contains(strings.Fields(r.kind), l.kind) || l.head != r.head || !inside || last != "" && last[0] != '.' {
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
	for i, l := range layers {
		p := place{name: l.Name, kind: l.Kind, block: strconv.Itoa(blocks), head: i == len(layers)-1}
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
