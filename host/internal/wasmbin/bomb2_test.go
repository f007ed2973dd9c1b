package wasmbin
import ("testing";"time";"fmt";"context";"bytes";"github.com/tetratelabs/wazero")
func mod1(code []byte) []byte {
 b:=[]byte("\x00asm\x01\x00\x00\x00")
 b=appendSection(b,1,[]byte{1,0x60,0,0})
 b=appendSection(b,3,[]byte{1,0})
 b=appendSection(b,5,[]byte{1,0,1})
 f:=append([]byte{1,20,0x7f},code...); f=append(f,0x0b)
 return appendSection(b,10,append(appendU32([]byte{1},uint32(len(f))),f...))
}
func TestStraight(t *testing.T){
 ctx:=context.Background()
 rep:=func(s string,n int)[]byte{return bytes.Repeat([]byte(s),n/len(s))}
 for _,size:=range []int{1<<17,1<<18,1<<20}{
 brt:=func() []byte { var c []byte; for i:=0;i<100;i++{c=append(c,2,0x40)}; n:=size/101; for k:=0;k<100;k++{ c=append(c,0x41,1,0x0e); c=appendU32(c,uint32(n)); for i:=0;i<=n;i++{c=append(c,byte(i%(100-k)))}; c=append(c,0x0b)}; return c}
 for name,code:=range map[string][]byte{
  "const drop":rep("\x41\x01\x1a",size), "adds":rep("\x20\x00\x20\x01\x6a\x21\x00",size), "calls":rep("\x10\x00",size),
  "deep":append(append(rep("\x20\x00",size*2/3),rep("\x6a",size/3-1)...),0x1a), "loads":rep("\x20\x00\x28\x02\x04\x21\x01",size), "loads2":rep("\x20\x00\x28\x02\x04\x1a",size),
  "callsdeep":append(append(rep("\x20\x00\x10\x00",size*2/3),rep("\x6a",size/6-1)...),0x1a), "brtable":brt(), "ifs":rep("\x20\x00\x04\x40\x20\x01\x21\x02\x0b",size/16),"select":rep("\x20\x00\x20\x01\x20\x02\x1b\x21\x03",size),
 } {
  bin:=mod1(code)
  rt:=wazero.NewRuntimeWithConfig(ctx,wazero.NewRuntimeConfigCompiler())
  c2,cancel:=context.WithTimeout(ctx,20*time.Second)
  t0:=time.Now(); cm,err:=rt.CompileModule(c2,bin); d:=time.Since(t0); cancel()
  if err!=nil{fmt.Println(err)} else {cm.Close(ctx)}
  fmt.Println(size,name,d)
  rt.Close(ctx)
 }}
}
