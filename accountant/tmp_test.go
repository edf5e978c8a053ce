package accountant
import ("testing";"fmt";"math";"math/rand/v2";"time")
func TestTmp(t *testing.T){
 var dense []float64
 for x:=0.02;x<8191;x*=1.001 {dense=append(dense,1+x)}
 dd,_:=NewRDP(dense)
 a,_:=New("rdp")
 rng:=rand.New(rand.NewPCG(1,2)); worst:=0.;mean:=0.
 st:=time.Now(); var t1,t2 time.Duration
 for i:=0;i<300;i++{ var l Ledger; l.Add(PoissonSampled{math.Exp(-rng.Float64()*9),Gaussian{math.Exp(rng.Float64()*4-1)}},int(math.Exp(rng.Float64()*12))+1)
  delta:=math.Exp(-rng.Float64()*20-4)
  st=time.Now(); g,_:=a.Guarantee(&l,delta); t1+=time.Since(st); st=time.Now(); h,_:=dd.Guarantee(&l,delta); t2+=time.Since(st)
  if h.Epsilon<0.01{continue}
  e:=g.Epsilon/h.Epsilon-1; mean+=e/300; if e>worst {worst=e; fmt.Println(l.Entries(),delta,g.Epsilon,h.Epsilon,e)}
 }
 fmt.Println(worst,mean,t1/300,t2/300,len(a.(*RDP).orders))
}
func TestTmpWarm(t *testing.T){ a,_:=New("rdp"); for _,s:=range []float64{0.1,0.3,0.5,1.1,2,6,20} { var l Ledger; l.Add(PoissonSampled{0.01,Gaussian{s}},1000)
 st:=time.Now();a.Guarantee(&l,1e-5); fmt.Print("cold ",s," ",time.Since(st))
 st=time.Now(); for i:=0;i<1000;i++{a.Guarantee(&l,1e-5)}; fmt.Println(" warm",time.Since(st)/1000)}
}
