package configs

// NumClasses is the value of Layer.OutFeatures that stands for the number of classes of the data
// set; in YAML it is the word classes.
const NumClasses = -1

// Layer is one layer of a network, with PyTorch's names and meanings. Kind says which fields count;
// the others are zero. Whether the layers fit the pictures is not known here: package model
// checks it.
type Layer struct {
	Kind  string // the YAML name, such as conv2d
	Where string // its place, such as model.layers[2], for messages

	OutChannels int     // conv2d
	KernelSize  int     // conv2d, max_pool2d, avg_pool2d; kernels are square
	Stride      int     // conv2d, max_pool2d, avg_pool2d
	Padding     int     // conv2d; zeros on each side
	OutFeatures int     // linear; NumClasses is the number of classes
	Bias        bool    // conv2d, linear
	NumGroups   int     // group_norm
	P           float64 // dropout; the probability that a value becomes 0

	Body     []Layer // residual: the output is Body(x) + Shortcut(x)
	Shortcut []Layer // residual: empty is the identity
}

// layerKind describes one kind of layer.
type layerKind struct {
	name      string
	doc       string
	defaults  Layer
	arguments []argument
	finish    func(*Layer) // fills in a default that depends on another argument; may be nil
}

// argument is one key of a layer.
type argument struct {
	name     string
	required bool
	format   format
	at       func(*Layer) any // where it is stored; the pointer type is the format's
	doc      string
}

var (
	kernelSize = argument{"kernel_size", true, integer{min: 1, max: 1024}, func(l *Layer) any { return &l.KernelSize }, "Height and width of the window in pixels."}
	bias       = argument{"bias", false, boolean{}, func(l *Layer) any { return &l.Bias }, "Whether a learned constant is added; default true."}
	poolStride = argument{"stride", false, integer{min: 1, max: 1024}, func(l *Layer) any { return &l.Stride }, "Step between two windows in pixels; default kernel_size."}
)

// strideIsKernel is PyTorch's default for pooling.
func strideIsKernel(l *Layer) {
	if l.Stride == 0 {
		l.Stride = l.KernelSize
	}
}

// layerKinds is every layer that a network can have. Each works on one example at a time: that is
// what bounds the influence of an example, so there is no batch normalisation.
var layerKinds = []layerKind{
	{
		name: "conv2d", doc: "Convolution.", defaults: Layer{Stride: 1, Bias: true},
		arguments: []argument{
			{"out_channels", true, integer{min: 1, max: 65536}, func(l *Layer) any { return &l.OutChannels }, "Number of filters."},
			kernelSize,
			{"stride", false, integer{min: 1, max: 1024}, func(l *Layer) any { return &l.Stride }, "Step between two windows in pixels; default 1."},
			{"padding", false, integer{min: 0, max: 1024}, func(l *Layer) any { return &l.Padding }, "Rows and columns of zeros on each side; default 0."},
			bias,
		},
	},
	{name: "max_pool2d", doc: "Largest value of each window.", arguments: []argument{kernelSize, poolStride}, finish: strideIsKernel},
	{name: "avg_pool2d", doc: "Mean of each window.", arguments: []argument{kernelSize, poolStride}, finish: strideIsKernel},
	{name: "global_avg_pool2d", doc: "Mean over all pixels of each channel."},
	{name: "flatten", doc: "All values of an example in one row."},
	{
		name: "linear", doc: "Fully connected layer.", defaults: Layer{Bias: true},
		arguments: []argument{
			{"out_features", true, integer{min: 1, max: 1 << 20, word: "classes", wordValue: NumClasses, wordMeans: "the number of classes of the data set"},
				func(l *Layer) any { return &l.OutFeatures }, "Number of outputs; classes is the number of classes of the data set."},
			bias,
		},
	},
	{name: "relu", doc: "max(x, 0)."},
	{name: "tanh", doc: "Hyperbolic tangent; bounded, and often the best choice for private training."},
	{name: "sigmoid", doc: "1 / (1 + exp(-x))."},
	{name: "gelu", doc: "x times the normal distribution function of x."},
	{name: "silu", doc: "x times the sigmoid of x."},
	{
		name: "group_norm", doc: "Normalisation within each example, over groups of channels.",
		arguments: []argument{{"num_groups", true, integer{min: 1, max: 65536}, func(l *Layer) any { return &l.NumGroups }, "Number of groups; it divides the number of channels."}},
	},
	{name: "layer_norm", doc: "Normalisation within each example, over all its values."},
	{
		name: "dropout", doc: "Sets values to 0 at random while training.",
		arguments: []argument{{"p", true, number{min: 0, max: 1, openMax: true}, func(l *Layer) any { return &l.P }, "The probability that a value becomes 0."}},
	},
	{
		name: "residual", doc: "body(x) + shortcut(x).",
		arguments: []argument{
			{"body", true, layerList{nonEmpty: true}, func(l *Layer) any { return &l.Body }, "The layers of the main branch."},
			{"shortcut", false, layerList{}, func(l *Layer) any { return &l.Shortcut }, "The layers of the other branch; without it, the identity."},
		},
	},
}

// layerNames lists the kinds of layers in the order of the table.
func layerNames() []string {
	names := make([]string, len(layerKinds))
	for i, k := range layerKinds {
		names[i] = k.name
	}
	return names
}

// layerKindNamed returns the description of a kind of layer, or nil.
func layerKindNamed(name string) *layerKind {
	for i := range layerKinds {
		if layerKinds[i].name == name {
			return &layerKinds[i]
		}
	}
	return nil
}

// argumentNamed returns the description of one of the kind's keys, or nil.
func (k *layerKind) argumentNamed(name string) *argument {
	for i := range k.arguments {
		if k.arguments[i].name == name {
			return &k.arguments[i]
		}
	}
	return nil
}

// argumentNames lists the keys of a kind of layer.
func (k *layerKind) argumentNames() []string {
	names := make([]string, len(k.arguments))
	for i, a := range k.arguments {
		names[i] = a.name
	}
	return names
}
