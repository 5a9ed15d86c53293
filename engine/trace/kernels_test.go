package trace

import "testing"

// Names as real captures have them, cut short.
func TestKernelClasses(t *testing.T) {
	for name, want := range map[string]string{
		"bmm_MxE4m3_MxE2m1MxE4m3_Fp32_t128x16x256u2_s3_et128x16":                         "gemm", // TensorRT-LLM's, behind vLLM's MXFP4
		"nvjet_tst_64x64_64x16_2x1_2cta_v_bz_bias_TNT":                                   "gemm",
		"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256":                       "gemm",
		"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>(int)":        "gemm",
		"void cudnn::cnn::wgrad_alg0_engine<float, 128, 6, 7, 3, 3, 5, false, 512>(int)": "gemm",
		"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)":   "norm",
		"void cudnn::bn_fw_tr_1C11_singleread<float, 512, true, 1, 2, 0>(int)":           "norm",
		"void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true>(int)":       "copy",
		"batched_transpose_16x64_pack_1x4_ediv_1x2_half":                                 "copy",
		"void (anonymous namespace)::store_kvcache<2048l, 4, false, long>(int)":          "attention",
		"void at::native::multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor>": "elementwise",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)":     "communication",
		"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(int)":                   "communication",
		"void vllm::cross_device_reduce_2stage<__nv_bfloat16, 8, true>(int)":             "communication",
		"quickreduce::allreduce_prototype_twoshot<__hip_bfloat16>":                       "communication",
		"void tensorrt_llm::kernels::oneShotAllReduceKernel<__nv_bfloat16, 8>(int)":      "communication",
		"flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport":   "communication",
		"void deep_ep::internode_ll::dispatch<true, false, 7168>(void*, float*)":         "communication",
		"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(int)":             "communication",
		"nvshmemi_transfer_allreduce":                                                    "communication",
		"void mscclpp::collective::allreduceAllPairs<mscclpp::SUM>(int)":                 "communication",
		"mscclKernel_Sum_half_LL": "communication",
		"rcclx_kernel":            "communication",
		"triton_poi_fused_add_all_reduce_bitwise_and_bitwise_or_embedding_ge_lt_mul_0": "elementwise", // the arithmetic beside it
		"triton_red_fused_all_reduce_mean_mul_pow_rsqrt_1":                             "elementwise",
		"triton_per_fused_all_gather_native_layer_norm_2":                              "norm",
		"triton_dist_one_shot_all_reduce_kernel":                                       "communication", // written, not generated
		"void at::native::(anonymous namespace)::max_pool_forward_nchw<float>(int)":    "other",
	} {
		if got := kernelClass(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
