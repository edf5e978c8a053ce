package data
import ("testing";"image";"image/color";"image/png";"os";"time")
func TestSheet(t *testing.T){
 t0:=time.Now(); s,err:=Load(Spec{Name:"digits"}); if err!=nil{t.Fatal(err)}; t.Log(time.Since(t0))
 const k=3
 im:=image.NewGray(image.Rect(0,0,14*29*k,10*29*k))
 col:=[10]int{}
 for i:=0;i<s.Train.Len();i++{ c:=s.Train.Label(i); if col[c]>=14{continue}
  p:=s.Train.Pixels(i)
  for y:=0;y<28*k;y++{for x:=0;x<28*k;x++{ im.SetGray(col[c]*29*k+x,c*29*k+y,color.Gray{p[y/k*28+x/k]})}}
  col[c]++}
 f,_:=os.Create("/tmp/digits.png"); png.Encode(f,im); f.Close()
}
