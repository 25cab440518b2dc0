package driver

// A selector is one of the messages that are sent.
type selector int

const (
	selCount selector = iota
	selObjectAtIndex
	selName
	selWorkingSet
	selUnified
	selProcessInfo
	selVersion
	selAtLeast
	selSupportsFamily
	selMaxThreadgroupMemory
	selMaxBuffer
	selAllocated
	selNew
	selNewBuffer
	selNewHeap
	selSetSize
	selSetStorageMode
	selSetHazardTracking
	selContents
	selGPUAddress
	selNewResidencySet
	selAddAllocation
	selRemoveAllocation
	selAddResidencySet
	selNewQueue
	selNewFence
	selNewSharedEvent
	selNewLibrary
	selNewLibraryWithData
	selSetMathMode
	selSetFastMath
	selSetConstant
	selNewFunction
	selNewFunctionWithConstants
	selFunctionNames
	selSetComputeFunction
	selSetBinaryArchives
	selNewPipeline
	selMaxThreads
	selExecutionWidth
	selStaticMemory
	selBindings
	selIndex
	selType
	selIsUsed
	selBufferDataSize
	selFileURL
	selSetURL
	selNewArchive
	selAddFunctions
	selSerialize
	selArrayWithObject
	selCommandBuffer
	selComputeEncoder
	selBlitEncoder
	selEndEncoding
	selCommit
	selStatus
	selError
	selGPUStart
	selGPUEnd
	selSignalEvent
	selWaitForEvent
	selUpdateFence
	selWaitForFence
	selSetPipeline
	selSetBuffer
	selSetBytes
	selSetThreadgroupMemory
	selDispatch
	selBarrier
	selUseResource
	selCopy
	selFill
	selCounterSets
	selSupportsSampling
	selNewSampleBuffer
	selSetCounterSet
	selSetSampleCount
	selComputePass
	selBlitPass
	selSetDispatchType
	selSampleAttachments
	selSubscript
	selSetSampleBuffer
	selSetStartSample
	selSetEndSample
	selComputeEncoderWith
	selBlitEncoderWith
	selResolve
	selLength
	selBytes
	selAlloc
	selNewEvent
	selInitProduct
	selMatrixDescriptor
	selInitMatrix
	selEncodeProduct
	selSharedCaptureManager
	selSupportsDestination
	selSetCaptureObject
	selSetDestination
	selSetOutputURL
	selStartCapture
	selStopCapture
	selectors // their number
)

var selectorNames = [selectors]string{
	selCount:                    "count",
	selObjectAtIndex:            "objectAtIndex:",
	selName:                     "name",
	selWorkingSet:               "recommendedMaxWorkingSetSize",
	selUnified:                  "hasUnifiedMemory",
	selProcessInfo:              "processInfo",
	selVersion:                  "operatingSystemVersionString",
	selAtLeast:                  "isOperatingSystemAtLeastVersion:",
	selSupportsFamily:           "supportsFamily:",
	selMaxThreadgroupMemory:     "maxThreadgroupMemoryLength",
	selMaxBuffer:                "maxBufferLength",
	selAllocated:                "currentAllocatedSize",
	selNew:                      "new",
	selNewBuffer:                "newBufferWithLength:options:",
	selNewHeap:                  "newHeapWithDescriptor:",
	selSetSize:                  "setSize:",
	selSetStorageMode:           "setStorageMode:",
	selSetHazardTracking:        "setHazardTrackingMode:",
	selContents:                 "contents",
	selGPUAddress:               "gpuAddress",
	selNewResidencySet:          "newResidencySetWithDescriptor:error:",
	selAddAllocation:            "addAllocation:",
	selRemoveAllocation:         "removeAllocation:",
	selAddResidencySet:          "addResidencySet:",
	selNewQueue:                 "newCommandQueueWithMaxCommandBufferCount:",
	selNewFence:                 "newFence",
	selNewSharedEvent:           "newSharedEvent",
	selNewLibrary:               "newLibraryWithSource:options:error:",
	selNewLibraryWithData:       "newLibraryWithData:error:",
	selSetMathMode:              "setMathMode:",
	selSetFastMath:              "setFastMathEnabled:",
	selSetConstant:              "setConstantValue:type:atIndex:",
	selNewFunction:              "newFunctionWithName:",
	selNewFunctionWithConstants: "newFunctionWithName:constantValues:error:",
	selFunctionNames:            "functionNames",
	selSetComputeFunction:       "setComputeFunction:",
	selSetBinaryArchives:        "setBinaryArchives:",
	selNewPipeline:              "newComputePipelineStateWithDescriptor:options:reflection:error:",
	selMaxThreads:               "maxTotalThreadsPerThreadgroup",
	selExecutionWidth:           "threadExecutionWidth",
	selStaticMemory:             "staticThreadgroupMemoryLength",
	selBindings:                 "bindings",
	selIndex:                    "index",
	selType:                     "type",
	selIsUsed:                   "isUsed",
	selBufferDataSize:           "bufferDataSize",
	selFileURL:                  "fileURLWithPath:",
	selSetURL:                   "setUrl:",
	selNewArchive:               "newBinaryArchiveWithDescriptor:error:",
	selAddFunctions:             "addComputePipelineFunctionsWithDescriptor:error:",
	selSerialize:                "serializeToURL:error:",
	selArrayWithObject:          "arrayWithObject:",
	selCommandBuffer:            "commandBuffer",
	selComputeEncoder:           "computeCommandEncoderWithDispatchType:",
	selBlitEncoder:              "blitCommandEncoder",
	selEndEncoding:              "endEncoding",
	selCommit:                   "commit",
	selStatus:                   "status",
	selError:                    "error",
	selGPUStart:                 "GPUStartTime",
	selGPUEnd:                   "GPUEndTime",
	selSignalEvent:              "encodeSignalEvent:value:",
	selWaitForEvent:             "encodeWaitForEvent:value:",
	selUpdateFence:              "updateFence:",
	selWaitForFence:             "waitForFence:",
	selSetPipeline:              "setComputePipelineState:",
	selSetBuffer:                "setBuffer:offset:atIndex:",
	selSetBytes:                 "setBytes:length:atIndex:",
	selSetThreadgroupMemory:     "setThreadgroupMemoryLength:atIndex:",
	selDispatch:                 "dispatchThreadgroups:threadsPerThreadgroup:",
	selBarrier:                  "memoryBarrierWithScope:",
	selUseResource:              "useResource:usage:",
	selCopy:                     "copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:",
	selFill:                     "fillBuffer:range:value:",
	selCounterSets:              "counterSets",
	selSupportsSampling:         "supportsCounterSampling:",
	selNewSampleBuffer:          "newCounterSampleBufferWithDescriptor:error:",
	selSetCounterSet:            "setCounterSet:",
	selSetSampleCount:           "setSampleCount:",
	selComputePass:              "computePassDescriptor",
	selBlitPass:                 "blitPassDescriptor",
	selSetDispatchType:          "setDispatchType:",
	selSampleAttachments:        "sampleBufferAttachments",
	selSubscript:                "objectAtIndexedSubscript:",
	selSetSampleBuffer:          "setSampleBuffer:",
	selSetStartSample:           "setStartOfEncoderSampleIndex:",
	selSetEndSample:             "setEndOfEncoderSampleIndex:",
	selComputeEncoderWith:       "computeCommandEncoderWithDescriptor:",
	selBlitEncoderWith:          "blitCommandEncoderWithDescriptor:",
	selResolve:                  "resolveCounterRange:",
	selLength:                   "length",
	selBytes:                    "bytes",
	selAlloc:                    "alloc",
	selNewEvent:                 "newEvent",
	selInitProduct:              "initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:",
	selMatrixDescriptor:         "matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:",
	selInitMatrix:               "initWithBuffer:offset:descriptor:",
	selEncodeProduct:            "encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:",
	selSharedCaptureManager:     "sharedCaptureManager",
	selSupportsDestination:      "supportsDestination:",
	selSetCaptureObject:         "setCaptureObject:",
	selSetDestination:           "setDestination:",
	selSetOutputURL:             "setOutputURL:",
	selStartCapture:             "startCaptureWithDescriptor:error:",
	selStopCapture:              "stopCapture",
}
