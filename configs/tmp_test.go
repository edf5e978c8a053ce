package configs
import ("testing";"fmt")
func TestTmp(t *testing.T){
 for _,p:=range Presets(){ c,err:=Load(p.Name,nil); fmt.Println(p.Name,"|",p.Description,err); if p.Name=="layers"||p.Name=="own-pictures"{fmt.Println(string(c.YAML()))}}
 s,err:=LoadSweep("clip-noise"); fmt.Println(err); tr,err:=s.Trials(); fmt.Println(err,len(tr)); fmt.Printf("%+v\n",tr[0].Overrides); fmt.Println(tr[0].Name)
 fmt.Println(len(Schema()))
 fmt.Println(string(Reference()))
 _,err=Parse("x.yaml",[]byte("data: {name: minst}\nprivacy: {epsilon: 010, delta: ~, clip_norm: 1_0, clip_norm: 2, sigma: 1}\noptimizer: {name: adam, momentum: .5, lr: 1}\ntraining:\n  steps: 5.5\n  epochs: yes\nmodle: 3\nclip_norm: 3\nmodel: {layers: [conv2d, Conv2d: {}, batch_norm2d: {x: 1}, linear: {out_features: 10, out_feature: 10}]}\n"),[]string{"data.foldr=1","privacy","data=1","training.seed=-1", "run.name=../x"}); fmt.Println(err)
}
