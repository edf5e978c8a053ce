package data
import ("testing";"math";"math/rand";"sync";"time";"os")
// conv net: conv k5 s2 16, relu, conv k5 s2 32, relu, fc 10; naive
func TestCNN(t *testing.T){
 s,_:=Load(Spec{Name:"digits"})
 if os.Getenv("REAL")!=""{ var e error; s,e=Load(Spec{Name:os.Getenv("REAL"),Dir:"../../shared/datasets"}); if e!=nil{t.Fatal(e)}; }
 N:=s.Train.Len(); if N>20000{N=20000}
 type P struct{w,g,m []float32}
 mk:=func(n,fan int)*P{p:=&P{make([]float32,n),make([]float32,n),make([]float32,n)};for i:=range p.w{p.w[i]=float32(rand.NormFloat64()*math.Sqrt(2/float64(fan)))};return p}
 c1:=mk(16*25,25);b1:=mk(16,1e9);c2:=mk(32*400,400);b2:=mk(32,1e9);f:=mk(10*512,512);fb:=mk(10,1e9)
 ps:=[]*P{c1,b1,c2,b2,f,fb}
 type W struct{x [784]float32;a [12*12*16]float32;z [16*32]float32;da [12*12*16]float32;dz[16*32]float32;o [10]float32;g [6][]float32}
 run:=func(w *W,px []uint8,lab int,train bool)(int){
  for i,p:=range px{w.x[i]=float32(p)/255}
  for r:=0;r<12;r++{for c:=0;c<12;c++{for k:=0;k<16;k++{ v:=b1.w[k];kw:=c1.w[k*25:k*25+25];for i:=0;i<5;i++{xr:=w.x[(2*r+i)*28+2*c:][:5];for j:=0;j<5;j++{v+=kw[i*5+j]*xr[j]}}; if v<0{v=0}; w.a[(r*12+c)*16+k]=v}}}
  for r:=0;r<4;r++{for c:=0;c<4;c++{for k:=0;k<32;k++{ v:=b2.w[k];for i:=0;i<5;i++{ ar:=w.a[((2*r+i)*12+2*c)*16:][:80];kr:=c2.w[k*400+i*80:][:80];for j:=range ar{v+=ar[j]*kr[j]}}; if v<0{v=0}; w.z[(r*4+c)*32+k]=v}}}
  best:=0
  for o:=0;o<10;o++{v:=fb.w[o];fw:=f.w[o*512:][:512];for j,z:=range w.z{v+=z*fw[j]};w.o[o]=v;if v>w.o[best]{best=o}}
  if !train{return best}
  mx:=w.o[best];sum:=float32(0);for o:=range w.o{w.o[o]=float32(math.Exp(float64(w.o[o]-mx)));sum+=w.o[o]}
  for j:=range w.dz{w.dz[j]=0}; for j:=range w.da{w.da[j]=0}
  for o:=range w.o{ d:=w.o[o]/sum;if o==lab{d-=1}; w.g[5][o]+=d;fw:=f.w[o*512:][:512];gw:=w.g[4][o*512:][:512];for j,z:=range w.z{gw[j]+=d*z;w.dz[j]+=d*fw[j]}}
  for r:=0;r<4;r++{for c:=0;c<4;c++{for k:=0;k<32;k++{ p:=(r*4+c)*32+k;if w.z[p]==0{continue};d:=w.dz[p];w.g[3][k]+=d;for i:=0;i<5;i++{ q:=((2*r+i)*12+2*c)*16;ar:=w.a[q:][:80];dr:=w.da[q:][:80];kr:=c2.w[k*400+i*80:][:80];gr:=w.g[2][k*400+i*80:][:80];for j:=range ar{gr[j]+=d*ar[j];dr[j]+=d*kr[j]}}}}}
  for r:=0;r<12;r++{for c:=0;c<12;c++{for k:=0;k<16;k++{p:=(r*12+c)*16+k;if w.a[p]==0{continue};d:=w.da[p];w.g[1][k]+=d;gw:=w.g[0][k*25:k*25+25];for i:=0;i<5;i++{xr:=w.x[(2*r+i)*28+2*c:][:5];for j:=0;j<5;j++{gw[i*5+j]+=d*xr[j]}}}}}
  return best}
 ws:=[]*W{};for i:=0;i<2;i++{w:=&W{};for k,p:=range ps{w.g[k]=make([]float32,len(p.w))};ws=append(ws,w)}
 lr:=float32(0.05);t0:=time.Now()
 for ep:=0;ep<5;ep++{ pm:=rand.Perm(N); if ep==3{lr=0.015}; if ep==4{lr=0.004}
  for b:=0;b+32<=N;b+=32{ var wg sync.WaitGroup;for q:=0;q<2;q++{wg.Add(1);go func(){for k:=range ws[q].g{clear(ws[q].g[k])};for _,i:=range pm[b+q*16:b+q*16+16]{run(ws[q],s.Train.Pixels(i),s.Train.Label(i),true)};wg.Done()}()};wg.Wait()
   for k,p:=range ps{for j:=range p.w{p.m[j]=0.9*p.m[j]+(ws[0].g[k][j]+ws[1].g[k][j])/32;p.w[j]-=lr*p.m[j]}}}
  ok:=0;var conf [10][10]int;for i:=0;i<s.Test.Len();i++{ r:=run(ws[0],s.Test.Pixels(i),0,false);if r==s.Test.Label(i){ok++}else{conf[s.Test.Label(i)][r]++}}
  t.Log(ep,float64(ok)/float64(s.Test.Len()),time.Since(t0)); if ep==4{for i:=range conf{t.Log(conf[i])}}}
}
