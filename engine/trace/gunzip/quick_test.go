package gunzip
import ("testing";"bytes";"io";"fmt";"hash/crc32";"time")
func TestQuick(t *testing.T){
 plain,packed:=capture()
 got,err:=io.ReadAll(NewReader(bytes.NewReader(packed)))
 if err!=nil||!bytes.Equal(got,plain){t.Fatal(err,len(got),len(plain))}
 fmt.Println(len(plain),len(packed))
 t0:=time.Now(); crc32.Update(0,crc32.IEEETable,plain); d:=time.Since(t0)
 fmt.Printf("crc %.0f MB/s\n",float64(len(plain))/d.Seconds()/1e6)
}
