package kineto

// function is a CUDA call with CUPTI's number for it.
type function struct {
	name   string
	cbid   int64
	driver bool
}

var (
	launchKernel   = &function{"cudaLaunchKernel", 211, false}
	launchKernelEx = &function{"cudaLaunchKernelExC", 430, false}
	driverLaunch   = &function{"cuLaunchKernel", 307, true}
	driverLaunchEx = &function{"cuLaunchKernelEx", 652, true}
	graphLaunch    = &function{"cudaGraphLaunch", 311, false}
	driverVersion  = &function{"cudaDriverGetVersion", 1, false}
	memcpyAsync    = &function{"cudaMemcpyAsync", 41, false}
	memsetAsync    = &function{"cudaMemsetAsync", 51, false}
	setAttribute   = &function{"cudaFuncSetAttribute", 273, false}
	isCapturing    = &function{"cudaStreamIsCapturing", 317, false}
	eventRecord    = &function{"cudaEventRecord", 135, false}
	eventSync      = &function{"cudaEventSynchronize", 137, false}
	streamWait     = &function{"cudaStreamWaitEvent", 147, false}
)

// kernelKind is one kernel of the pretended model: its name, the operators that launch it when no graph is replayed, and
// the figures from which its time and its launch shape follow.
type kernelKind struct {
	name   string
	ops    []string // outermost first
	fn     *function
	weight int64 // share of the forward's time
	rows   int64 // tokens that a block works on
	y      int64 // blocks beside each other; a collective's channels
	block  int64
	regs   int64
	shared int64
	comm   *commKind
}

// commKind is a collective's PyTorch side. out is the received elements over the sent ones: 1, or the world's size either way.
type commKind struct {
	name       string
	annotation string
	out        commOut
}

type commOut uint8

const (
	outSame commOut = iota
	outTimesWorld
	outOverWorld
)

// layer is the kernels of one transformer layer: latent attention, then a mixture of experts with a shared expert.
var layer = []kernelKind{
	{name: "void deepinfer::fused_add_rms_norm_kernel<__nv_bfloat16, 8, 1024>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16 const*, float, int, int)", ops: []string{"deepinfer::fused_add_rms_norm"}, fn: launchKernel, weight: 9, rows: 1, y: 1, block: 1024, regs: 40, shared: 128},
	{name: "void deepinfer::per_token_group_quant_fp8_kernel<__nv_bfloat16, __nv_fp8_e4m3, 128, true>(__nv_bfloat16 const*, void*, float*, int, int, int, float, float, float)", ops: []string{"deepinfer::per_token_group_quant_fp8"}, fn: launchKernel, weight: 6, rows: 16, y: 56, block: 256, regs: 32, shared: 0},
	{name: "void deep_gemm::fp8_gemm_kernel<2112u, 7168u, 64u, 128u, 128u, 1u, 6u, 128u, 128u, 1u, false, (deep_gemm::GemmType)0>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)", ops: []string{"deepinfer::fp8_linear", "deepinfer::gemm_fp8_fp8_bf16_nt"}, fn: driverLaunchEx, weight: 34, rows: 64, y: 17, block: 384, regs: 168, shared: 199168},
	{name: "void deepinfer::rms_norm_pair_kernel<__nv_bfloat16, 1536, 512>(__nv_bfloat16*, __nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16 const*, float, int)", ops: []string{"deepinfer::rms_norm_pair"}, fn: launchKernel, weight: 7, rows: 1, y: 1, block: 256, regs: 38, shared: 64},
	{name: "void deep_gemm::fp8_gemm_kernel<3072u, 1536u, 64u, 96u, 128u, 1u, 7u, 128u, 96u, 1u, false, (deep_gemm::GemmType)0>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)", ops: []string{"deepinfer::fp8_linear", "deepinfer::gemm_fp8_fp8_bf16_nt"}, fn: driverLaunchEx, weight: 26, rows: 64, y: 32, block: 384, regs: 168, shared: 198144},
	{name: "void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecialized<4, cute::tuple<cute::C<1>, cute::C<2>, cute::C<1> >, cutlass::gemm::KernelTmaWarpSpecializedPingpong>, cute::tuple<cute::C<64>, cute::C<128>, cute::C<64> >, cutlass::bfloat16_t, cute::tuple<long, cute::C<1>, long>, cutlass::bfloat16_t, cute::tuple<long, cute::C<1>, long> >, cutlass::epilogue::collective::DefaultEpilogue<cutlass::bfloat16_t> > >(cutlass::gemm::kernel::GemmUniversal::Params)", ops: []string{"aten::bmm"}, fn: launchKernelEx, weight: 15, rows: 64, y: 16, block: 384, regs: 168, shared: 213248},
	{name: "void deepinfer::mla::rope_and_cache_kernel<__nv_bfloat16, __nv_fp8_e4m3, 512, 64>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16 const*, float const*, unsigned char*, long const*, int const*, int, int, int, float)", ops: []string{"deepinfer::mla_rope_and_cache"}, fn: launchKernel, weight: 8, rows: 4, y: 1, block: 512, regs: 48, shared: 0},
	{name: "void flash::flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512>, true, flash::SharedStorageMLA<Flash_fwd_kernel_traits_mla<576, 64, 64, 8, cutlass::bfloat16_t, 512> > >(Flash_fwd_mla_params)", ops: []string{"deepinfer::flash_mla_decode"}, fn: launchKernel, weight: 92, rows: 6, y: 2, block: 256, regs: 255, shared: 230400},
	{name: "void flash::flash_fwd_splitkv_mla_combine_kernel<cutlass::bfloat16_t, float, long, 512, 32>(Flash_fwd_mla_params)", ops: []string{"deepinfer::flash_mla_combine"}, fn: launchKernel, weight: 10, rows: 8, y: 16, block: 128, regs: 56, shared: 1024},
	{name: "void deep_gemm::fp8_gemm_kernel<7168u, 2048u, 64u, 128u, 128u, 1u, 6u, 128u, 128u, 2u, true, (deep_gemm::GemmType)0>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)", ops: []string{"deepinfer::fp8_linear", "deepinfer::gemm_fp8_fp8_bf16_nt"}, fn: driverLaunchEx, weight: 38, rows: 64, y: 56, block: 384, regs: 168, shared: 199168},
	{name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", ops: []string{"c10d::allreduce_", "record_param_comms"}, fn: launchKernelEx, weight: 40, rows: 1, y: 24, block: 544, regs: 96, shared: 103808, comm: &commKind{"allreduce", "nccl:all_reduce", outSame}},
	{name: "void deepinfer::fused_add_rms_norm_kernel<__nv_bfloat16, 8, 1024>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16 const*, float, int, int)", ops: []string{"deepinfer::fused_add_rms_norm"}, fn: launchKernel, weight: 9, rows: 1, y: 1, block: 1024, regs: 40, shared: 128},
	{name: "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", ops: []string{"aten::linear", "aten::mm"}, fn: driverLaunchEx, weight: 12, rows: 64, y: 32, block: 384, regs: 168, shared: 132096},
	{name: "void deepinfer::moe::grouped_topk_gating_kernel<float, int, 256, 8, 4, 8>(float const*, float const*, float*, int*, int, int, double, bool)", ops: []string{"deepinfer::moe_grouped_topk"}, fn: launchKernel, weight: 8, rows: 4, y: 1, block: 128, regs: 64, shared: 0},
	{name: "void deepinfer::moe::align_and_permute_kernel<__nv_fp8_e4m3, 256>(__nv_fp8_e4m3 const*, float const*, int const*, __nv_fp8_e4m3*, float*, int*, int*, int, int, int)", ops: []string{"deepinfer::moe_permute"}, fn: launchKernel, weight: 9, rows: 2, y: 1, block: 256, regs: 32, shared: 4112},
	{name: "void deep_gemm::fp8_gemm_kernel<4096u, 7168u, 64u, 128u, 128u, 32u, 6u, 128u, 128u, 1u, false, (deep_gemm::GemmType)2>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)", ops: []string{"deepinfer::moe_grouped_gemm", "deepinfer::m_grouped_gemm_fp8_fp8_bf16_nt_masked"}, fn: driverLaunchEx, weight: 118, rows: 32, y: 32, block: 384, regs: 168, shared: 199168},
	{name: "_silu_and_mul_post_quant_kernel", ops: []string{"deepinfer::silu_and_mul_quant"}, fn: driverLaunch, weight: 11, rows: 16, y: 16, block: 128, regs: 50, shared: 1024},
	{name: "void deep_gemm::fp8_gemm_kernel<7168u, 2048u, 64u, 128u, 128u, 32u, 6u, 128u, 128u, 1u, false, (deep_gemm::GemmType)2>(__nv_bfloat16*, float*, int*, unsigned int, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st, CUtensorMap_st)", ops: []string{"deepinfer::moe_grouped_gemm", "deepinfer::m_grouped_gemm_fp8_fp8_bf16_nt_masked"}, fn: driverLaunchEx, weight: 72, rows: 32, y: 56, block: 384, regs: 168, shared: 199168},
	{name: "void deepinfer::moe::finalize_routing_kernel<__nv_bfloat16, 8, true>(__nv_bfloat16 const*, float const*, int const*, __nv_bfloat16 const*, __nv_bfloat16*, int, int, float)", ops: []string{"deepinfer::moe_finalize"}, fn: launchKernel, weight: 10, rows: 1, y: 1, block: 256, regs: 42, shared: 0},
	{name: "ncclDevKernel_ReduceScatter_Sum_bf16_RING_SIMPLE(ncclDevKernelArgsStorage<4096ul>)", ops: []string{"c10d::_reduce_scatter_base_", "record_param_comms"}, fn: launchKernelEx, weight: 46, rows: 1, y: 16, block: 544, regs: 96, shared: 103808, comm: &commKind{"_reduce_scatter_base", "nccl:_reduce_scatter_base", outOverWorld}},
}

// logits is what follows the last layer inside the forward.
var logits = []kernelKind{
	{name: "void deepinfer::rms_norm_kernel<__nv_bfloat16, 8, 1024>(__nv_bfloat16*, __nv_bfloat16 const*, __nv_bfloat16 const*, float, int, int)", ops: []string{"deepinfer::rms_norm"}, fn: launchKernel, weight: 9, rows: 1, y: 1, block: 1024, regs: 36, shared: 128},
	{name: "nvjet_tst_128x64_64x8_2x1_v_bz_coopB_TNN", ops: []string{"aten::linear", "aten::mm"}, fn: driverLaunchEx, weight: 210, rows: 128, y: 126, block: 384, regs: 168, shared: 213504},
	{name: "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", ops: []string{"c10d::_allgather_base_", "record_param_comms"}, fn: launchKernelEx, weight: 55, rows: 1, y: 12, block: 512, regs: 96, shared: 103808, comm: &commKind{"_allgather_base", "nccl:_all_gather_base", outTimesWorld}},
}

// sampling is launched by itself in every step: the sampler's shapes differ too much for a graph.
var sampling = []kernelKind{
	{name: "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>)", ops: []string{"aten::to", "aten::_to_copy", "aten::copy_"}, fn: launchKernel, weight: 60, rows: 1, y: 64, block: 128, regs: 32, shared: 0},
	{name: "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >, std::array<char*, 3ul> >(int, at::native::BinaryFunctor<float, float, float, at::native::binary_internal::DivFunctor<float> >, std::array<char*, 3ul>)", ops: []string{"aten::div_"}, fn: launchKernel, weight: 40, rows: 1, y: 32, block: 128, regs: 28, shared: 0},
	{name: "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>(float*, float const*, int)", ops: []string{"aten::softmax", "aten::_softmax"}, fn: launchKernel, weight: 70, rows: 1, y: 1, block: 1024, regs: 40, shared: 4224},
	{name: "void deepinfer::sampling::TopKTopPSamplingFromProbKernel<1024u, (cub::BlockScanAlgorithm)1, (cub::BlockReduceAlgorithm)2, 4u, true, float, int>(float*, int*, int*, float*, unsigned int, float*, float, unsigned int, unsigned long, unsigned long)", ops: []string{"deepinfer::top_k_top_p_sampling_from_probs"}, fn: launchKernel, weight: 160, rows: 1, y: 1, block: 1024, regs: 64, shared: 16464},
	{name: "void deepinfer::sampling::ChainSpeculativeSampling<1024u, (cub::BlockScanAlgorithm)1, (cub::BlockReduceAlgorithm)2, 4u, true, float, int>(float*, int*, float*, float*, int*, int*, int*, unsigned int, unsigned int, unsigned long, unsigned long)", ops: []string{"deepinfer::chain_speculative_sampling"}, fn: launchKernel, weight: 90, rows: 6, y: 1, block: 1024, regs: 56, shared: 12352},
	{name: "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4>)", ops: []string{"aten::argmax"}, fn: launchKernel, weight: 60, rows: 8, y: 1, block: 512, regs: 32, shared: 16},
	{name: "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1}>(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>, at::native::index_kernel_impl<at::native::OpaqueType<8> >(at::TensorIteratorBase&, c10::ArrayRef<long>, c10::ArrayRef<long>)::{lambda(char*, char const*, long)#1} const&)::{lambda(int)#1}>(long)", ops: []string{"aten::index"}, fn: launchKernel, weight: 20, rows: 128, y: 1, block: 128, regs: 38, shared: 0},
	{name: "void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::DeviceScanPolicy<long, std::plus<long> >::Policy900, long const*, long*, at_cuda_detail::cub::ScanTileState<long, true>, std::plus<long>, at_cuda_detail::cub::NullType, int>(long const*, long*, at_cuda_detail::cub::ScanTileState<long, true>, int, std::plus<long>, at_cuda_detail::cub::NullType, int)", ops: []string{"aten::cumsum", "aten::_cumsum"}, fn: launchKernel, weight: 20, rows: 512, y: 1, block: 128, regs: 62, shared: 5136},
}
