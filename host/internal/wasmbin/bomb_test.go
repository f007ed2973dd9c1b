package wasmbin
import ("testing";"os";"time";"fmt";"context";"github.com/tetratelabs/wazero")
func bomb(L,B int, nested bool) []byte {
 b:=[]byte("\x00asm\x01\x00\x00\x00")
 b=appendSection(b,1,[]byte{1,0x60,0,0})
 b=appendSection(b,3,[]byte{1,0})
 f:=appendU32([]byte{1},uint32(L)); f=append(f,0x7f)
 for i:=0;i<B;i++{ f=append(f,3,0x40); f=append(f,0x20); f=appendU32(f,uint32(i*7%L)); f=append(f,0x21); f=appendU32(f,uint32(i*13%L)); f=append(f,0x20); f=appendU32(f,uint32(i%L)); f=append(f,0x0d,0); if !nested {f=append(f,0x0b)} }
 if nested { for i:=0;i<B;i++{ f=append(f,0x0b)} }
 f=append(f,0x0b)
 body:=append(appendU32([]byte{1},uint32(len(f))),f...)
 return appendSection(b,10,body)
}
func TestBomb(t *testing.T){
 ctx:=context.Background()
 for _,c:=range [][2]int{{4,2000},{4,4000},{4,8000},{100,4000},{30,4000},{1000,2000},{1000,1500},{700,1000},{500,1500}} {
  p:=bomb(c[0],c[1],false)
  for k,bin:=range [][]byte{p,meterB(p)} {
  rt:=wazero.NewRuntimeWithConfig(ctx,wazero.NewRuntimeConfigCompiler())
  t0:=time.Now(); cm,err:=rt.CompileModule(ctx,bin); d:=time.Since(t0)
  if err!=nil{fmt.Println(err)} else {cm.Close(ctx)}
  fmt.Println(c,"metered",k,d)
  rt.Close(ctx)
  }
 }}
func TestReal(t *testing.T){
 for _,p:=range []string{"/tmp/w/go.wasm","/root/go/pkg/mod/github.com/ncruces/go-sqlite3@v0.30.0/embed/sqlite3.wasm","/root/go/pkg/mod/github.com/tetratelabs/wazero@v1.12.0/imports/wasi_snapshot_preview1/testdata/zig-cc/wasi.wasm"} {
  b,err:=os.ReadFile(p); if err!=nil{fmt.Println(err);continue}
  m,_:=parse(b)
  var maxb,maxl,maxp,maxbody,maxloc int; var ls []uint32
  m.bodies(func(b *body) error { bl,lo,d:=0,0,1; var in instr; for d>0 { b.r.next(&in,&ls); switch in.op {case opLoop: lo++;bl++;d++; case opBlock,opIf: bl++;d++; case opEnd: d--}}; ls=ls[:0]
   maxb=max(maxb,bl);maxl=max(maxl,lo);maxp=max(maxp,localBlocks(b.locals,bl)); maxbody=max(maxbody,b.size); maxloc=max(maxloc,int(b.locals)); return nil})
  fmt.Println(p,"blocks",maxb,"loops",maxl,"product",maxp,"body",maxbody,"locals",maxloc,"funcs",m.info.Functions)
 }
}
func meterB(p []byte) []byte { o,err:=Meter(p,MeterOptions{Bounds:Bounds{LocalBlocks:1<<40}}); if err!=nil{panic(err)}; return o}
