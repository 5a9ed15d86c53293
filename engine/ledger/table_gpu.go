package ledger

// Words that GPU readings share.
var (
	cardNow     = Words{"the moment of the reading", "读取的时刻"}
	driverWin   = Words{"the driver's own sampling period, up to a second", "驱动自身的采样周期，至多一秒"}
	sinceDriver = Words{"since the driver was loaded", "自驱动加载以来"}
)

// cardMetrics are readings of one card by the driver's management library.
var cardMetrics = cards([]Metric{
	{
		Key: "gpu_util", Unit: Share, Better: Neither, Aggregate: Aggregation{Op: WeightedMean},
		Name:        Words{"GPU busy", "GPU 占用率"},
		Formula:     Words{"share of time with at least one kernel running, however small; says nothing of how well it fills the card", "至少有一个核函数在运行的时间占比，与其能否填满显卡无关"},
		Window:      driverWin,
		Denominator: Words{"the sampling period", "采样周期"},
		Moves:       Words{"idle time between steps", "步间空闲"},
	},
	{
		Key: "gpu_mem_util", Unit: Share, Better: Neither, Aggregate: Aggregation{Op: WeightedMean},
		Name:        Words{"Memory controller busy", "显存控制器占用率"},
		Formula:     Words{"share of time in which device memory was read or written", "显存被读写的时间占比"},
		Window:      driverWin,
		Denominator: Words{"the sampling period", "采样周期"},
		Moves:       Words{"decode steps are bound by it", "解码步受其限制"},
	},
	{
		Key: "gpu_mem_used", Unit: GiB, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"GPU memory used", "已用显存"},
		Formula: Words{"device memory in use by all processes, without what the driver reserves", "所有进程占用的显存，不含驱动保留部分"},
		Window:  cardNow,
		Moves:   Words{"weights, KV cache, graphs, NCCL", "权重、KV 缓存、图、NCCL"},
	},
	{
		Key: "gpu_mem_total", Unit: GiB, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"GPU memory", "显存总量"},
		Formula: Words{"device memory of the card", "显卡的显存"},
		Window:  cardNow,
		Moves:   Words{"the card", "显卡型号"},
	},
	{
		Key: "gpu_process_mem", Unit: GiB, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"GPU memory by process", "进程显存"},
		Label:   Words{"process", "进程"},
		Formula: Words{"device memory of one process on the card", "该显卡上单个进程占用的显存"},
		Window:  cardNow,
		Moves:   Words{"the process", "进程自身"},
	},
	{
		Key: "gpu_power", Unit: Watts, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Power", "功率"},
		Formula: Words{"power drawn by the card, averaged by the driver", "显卡功率，由驱动平均"},
		Window:  driverWin,
		Moves:   Words{"compute and memory load", "计算与访存负载"},
	},
	{
		Key: "gpu_power_limit", Unit: Watts, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Power limit", "功率上限"},
		Formula: Words{"the limit that the driver enforces", "驱动执行的功率上限"},
		Window:  cardNow,
		Moves:   Words{"the administrator", "管理员设置"},
	},
	{
		Key: "gpu_sm_clock", Unit: Megahertz, Better: Neither, Aggregate: Aggregation{Op: Min},
		Name:    Words{"SM clock", "SM 频率"},
		Formula: Words{"clock of the multiprocessors", "流式多处理器的频率"},
		Window:  cardNow,
		Moves:   Words{"power and heat limits, idling, application clocks", "功率与温度限制、空闲、应用频率设置"},
	},
	{
		Key: "gpu_mem_clock", Unit: Megahertz, Better: Neither, Aggregate: Aggregation{Op: Min},
		Name:    Words{"Memory clock", "显存频率"},
		Formula: Words{"clock of the device memory", "显存的频率"},
		Window:  cardNow,
		Moves:   Words{"idling, the administrator", "空闲、管理员设置"},
	},
	{
		Key: "gpu_temp", Unit: Celsius, Better: Neither, Aggregate: Aggregation{Op: Max},
		Name:    Words{"Temperature", "温度"},
		Formula: Words{"temperature of the chip", "芯片温度"},
		Window:  cardNow,
		Moves:   Words{"load and cooling", "负载与散热"},
	},
	{
		Key: "gpu_mem_temp", Unit: Celsius, Better: Neither, Aggregate: Aggregation{Op: Max},
		Name:    Words{"Memory temperature", "显存温度"},
		Formula: Words{"temperature of the device memory", "显存温度"},
		Window:  cardNow,
		Moves:   Words{"load and cooling", "负载与散热"},
	},
	{
		Key: "gpu_throttle", Unit: Flag, Better: Down, Aggregate: Aggregation{Op: Max},
		Name:    Words{"Clock held down", "降频"},
		Label:   Words{"reason", "原因"},
		Formula: Words{"1 while the driver holds the clock down for this reason, else 0", "驱动因该原因压低频率时为 1，否则为 0"},
		Window:  cardNow,
		Moves:   Words{"power limit, heat, power brake, synchronised boost", "功率上限、温度、供电制动、同步加速"},
	},
	{
		Key: "gpu_ecc", Unit: Errors, Kind: Counter, Better: Down, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Memory errors", "显存错误"},
		Label:   Words{"corrected or uncorrected", "已纠正或未纠正"},
		Formula: Words{"errors found by ECC", "ECC 发现的错误数"},
		Window:  sinceDriver,
		Moves:   Words{"ageing or faulty memory; uncorrected ones end processes", "显存老化或故障；未纠正的错误会终止进程"},
	},
	{
		Key: "gpu_xid", Unit: Errors, Kind: Counter, Better: Down, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"Driver errors (XID)", "驱动错误（XID）"},
		Label:   Words{"XID number", "XID 编号"},
		Formula: Words{"XID errors of this number", "该编号的 XID 错误数"},
		Window:  Words{"since the collector started", "自采集器启动以来"},
		Moves:   Words{"faulty hardware, drivers, programs", "硬件、驱动或程序故障"},
	},
	{
		Key: "gpu_pcie_tx", Unit: GigabytesPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"PCIe sent", "PCIe 发送"},
		Formula: Words{"bytes sent by the card over PCIe, as the driver measures in a short window", "显卡经 PCIe 发送的速率，由驱动在短窗口内测量"},
		Window:  Words{"20 ms at the moment of the reading", "读取时刻的 20 毫秒"},
		Moves:   Words{"copies to the host, KV offload", "到主机的拷贝、KV 卸载"},
	},
	{
		Key: "gpu_pcie_rx", Unit: GigabytesPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"PCIe received", "PCIe 接收"},
		Formula: Words{"bytes received by the card over PCIe, as the driver measures in a short window", "显卡经 PCIe 接收的速率，由驱动在短窗口内测量"},
		Window:  Words{"20 ms at the moment of the reading", "读取时刻的 20 毫秒"},
		Moves:   Words{"copies from the host, KV loading", "来自主机的拷贝、KV 装载"},
	},
	{
		Key: "gpu_nvlink_tx", Unit: GigabytesPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"NVLink sent", "NVLink 发送"},
		Formula: Words{"bytes sent over all NVLinks of the card ÷ time", "显卡所有 NVLink 发送的字节数 ÷ 时间"},
		Window:  interval,
		Moves:   Words{"collectives, expert exchange", "集合通信、专家交换"},
	},
	{
		Key: "gpu_nvlink_rx", Unit: GigabytesPerSecond, Better: Neither, Aggregate: Aggregation{Op: Sum},
		Name:    Words{"NVLink received", "NVLink 接收"},
		Formula: Words{"bytes received over all NVLinks of the card ÷ time", "显卡所有 NVLink 接收的字节数 ÷ 时间"},
		Window:  interval,
		Moves:   Words{"collectives, expert exchange", "集合通信、专家交换"},
	},
})

// cards completes the definitions with what all readings of a card share.
func cards(all []Metric) []Metric {
	for i := range all {
		m := &all[i]
		m.Section, m.Group, m.Engines = GPUReading, Cards, OfGPU
		if m.Label.EN != "" { // a blank separates the two
			m.Label = Words{"card's UUID, then " + m.Label.EN, "显卡 UUID，其后为" + m.Label.ZH}
		} else {
			m.Label = Words{"card's UUID", "显卡 UUID"}
		}
	}
	return all
}
