package data
import ("testing";"time")
func TestLoadTimes(t *testing.T){
 for _,n:=range []string{"mnist","fashion-mnist","cifar-10"}{
 t0:=time.Now(); s,err:=Load(Spec{Name:n,Dir:"../../shared/datasets"}); t.Log(n,time.Since(t0),err); if err==nil {t.Log(s.Train.Len(),s.Test.Len(),s.Train.Shape())}}
 _,err:=Load(Spec{Name:"mnist",Dir:"/nowhere"}); t.Log(err)
}
