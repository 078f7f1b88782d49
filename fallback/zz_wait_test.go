package fallback
import ("testing";"os";"os/exec";"time";"fmt";"strconv";"syscall";"sort")
func TestZZHelper(t *testing.T){
 d:=os.Getenv("ZZDIR"); if d==""{t.Skip()}
 me,_:=Process(os.Getpid()); l:=New(d,me)
 n,_:=strconv.Atoi(os.Getenv("ZZN"))
 if n==0 { time.Sleep(200*time.Millisecond); l.Lock(Request{Mode:Exclusive},time.Time{}); l.Unlock(); os.Exit(0)}
 f,_:=os.OpenFile(d+"/../log",os.O_APPEND|os.O_WRONLY|os.O_CREATE,0666)
 for i:=0;i<n;i++{ l.Lock(Request{Mode:Exclusive},time.Time{}); a:=time.Now().UnixNano(); time.Sleep(20*time.Millisecond); fmt.Fprintln(f,a,time.Now().UnixNano()); l.Unlock(); time.Sleep(time.Millisecond) }
 os.Exit(0)
}
func spawn(d string,n int)*exec.Cmd{ c:=exec.Command("/proc/self/exe","-test.run=ZZHelper"); c.Env=append(os.Environ(),"ZZDIR="+d,"ZZN="+strconv.Itoa(n)); c.Start(); return c}
func TestZZLoad(t *testing.T){
 tmp:=t.TempDir(); os.WriteFile(tmp+"/f",nil,0666); d,_:=StateDir(tmp+"/f","")
 me,_:=Process(os.Getpid()); l:=New(d,me); l.TryLock(Request{Mode:Exclusive})
 var cs []*exec.Cmd
 for range 100 { cs=append(cs,spawn(d,0)) }
 time.Sleep(5*time.Second)
 cpu:=func()(s float64){ for _,c:=range cs{ b,_:=os.ReadFile(fmt.Sprintf("/proc/%d/schedstat",c.Process.Pid)); _=b
   es,_:=os.ReadDir(fmt.Sprintf("/proc/%d/task",c.Process.Pid)); for _,e:=range es { b,_:=os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/schedstat",c.Process.Pid,e.Name())); var x float64; fmt.Sscan(string(b),&x); s+=x/1e9 } }; return}
 a:=cpu(); t0:=time.Now(); time.Sleep(3*time.Second); b:=cpu(); fmt.Printf("load of 200 waiters: %.1f%% of a core\n",100*(b-a)/time.Since(t0).Seconds())
 for _,c:=range cs{ syscall.Kill(c.Process.Pid,9); c.Wait()}
}
func TestZZHand(t *testing.T){ for _,k:=range []int{1,2,8}{
 tmp:=t.TempDir(); os.WriteFile(tmp+"/f",nil,0666); d,_:=StateDir(tmp+"/f","")
 var cs []*exec.Cmd
 for range k+1 { cs=append(cs,spawn(d,160/(k+1))) }
 for _,c:=range cs{c.Wait()}
 f,_:=os.Open(tmp+"/log"); var in,out []int64
 for { var a,b int64; if n,_:=fmt.Fscan(f,&a,&b);n<2{break}; in=append(in,a);out=append(out,b)}
 var g []float64; for i:=1;i<len(in);i++{ g=append(g,float64(in[i]-out[i-1])/1e6)}
 sort.Float64s(g); fmt.Printf("%d waiters: median %.2f p90 %.2f max %.2f ms n=%d\n",k,g[len(g)/2],g[len(g)*9/10],g[len(g)-1],len(g))
}}
func init(){ if os.Getenv("ZZLE")!="" { lookEvery=10*time.Second } }
