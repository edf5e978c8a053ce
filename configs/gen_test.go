package configs
import ("testing";"os";"path/filepath";"fmt";"strings")
func TestGen(t *testing.T){
 fs,_:=filepath.Glob("testdata/*.bad.yaml")
 for _,f:=range fs{ src,_:=os.ReadFile(f); b:=filepath.Base(f); _,err:=Parse(b,src,nil)
  if err==nil {fmt.Println("NOERR",b);continue}
  n:=strings.TrimSuffix(b,".bad.yaml")
  fmt.Printf("\t{%q, `%s`},\n",n,strings.ReplaceAll(err.Error(),b+":",""))
 }
}
