// Package pytorch writes a trained model as a Python file that builds the same network of torch.nn
// and loads the weights from a safetensors file beside it. The file needs PyTorch alone; to read
// pictures it takes Pillow.
package pytorch
