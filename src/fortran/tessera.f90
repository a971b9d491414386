! SPDX-License-Identifier: Apache-2.0
!> <tessera/tessera.h> for Fortran: what each function does, and when which argument may be left out, is said there.
!>
!>     call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
!>     status = tessera_job_open(MPI_COMM_WORLD, job=job)         ! of module mpi; comm%MPI_VAL of mpi_f08
!>     if (status /= tessera_ok) then
!>       call tessera_copy_text(tessera_error(), line, len(line, kind=c_size_t))
!>
!> A job, a plan and other things that are opened, and pointers to data, are type(c_ptr). A text that is given ends with
!> c_null_char, and one that is returned is a type(c_ptr) for tessera_copy_text, valid as long as in C. Functions of a
!> pass are bind(c), as the abstract interfaces say, and are given by c_funloc; no function is c_null_funptr. Units,
!> ranks, devices and indices are counted from 0.
!>
!> There are interfaces alone in this module, of Fortran 2018, so that a program needs tessera.mod, or this file, and no
!> other library.
module tessera
  use, intrinsic :: iso_c_binding, only: c_char, c_double, c_float, c_funptr, c_int, c_int32_t, c_int64_t, c_null_funptr, &
                                         c_null_ptr, c_ptr, c_size_t
  implicit none
  public

  !> tessera_status
  integer(c_int), parameter :: tessera_ok = 0
  integer(c_int), parameter :: tessera_usage = 2
  integer(c_int), parameter :: tessera_input = 3
  integer(c_int), parameter :: tessera_not_converged = 4
  integer(c_int), parameter :: tessera_device_absent = 5
  integer(c_int), parameter :: tessera_job_fault = 6
  integer(c_int), parameter :: tessera_outdated_plan = 7
  integer(c_int), parameter :: tessera_rolled_back = 8
  integer(c_int), parameter :: tessera_interrupted = 75

  !> tessera_device_failure
  integer(c_int), parameter :: tessera_on_failure_cpu = 0
  integer(c_int), parameter :: tessera_on_failure_error = 1
  integer(c_int), parameter :: tessera_on_failure_exclude = 2

  !> tessera_policy
  integer(c_int), parameter :: tessera_policy_auto = 0
  integer(c_int), parameter :: tessera_policy_gpu = 1
  integer(c_int), parameter :: tessera_policy_cpu = 2

  !> tessera_score_model
  integer(c_int), parameter :: tessera_score_spec = 0
  integer(c_int), parameter :: tessera_score_throughput = 1
  integer(c_int), parameter :: tessera_score_measured = 2

  !> tessera_ran
  integer(c_int), parameter :: tessera_ran_devices = 0
  integer(c_int), parameter :: tessera_ran_host = 1
  integer(c_int), parameter :: tessera_ran_fallback = 2
  integer(c_int), parameter :: tessera_ran_none = 3

  !> tessera_use
  integer(c_int), parameter :: tessera_read = 0
  integer(c_int), parameter :: tessera_write = 1
  integer(c_int), parameter :: tessera_modify = 2

  !> tessera_operation
  integer(c_int), parameter :: tessera_sum = 0
  integer(c_int), parameter :: tessera_minimum = 1
  integer(c_int), parameter :: tessera_maximum = 2
  integer(c_int), parameter :: tessera_minimum_at = 3
  integer(c_int), parameter :: tessera_maximum_at = 4
  integer(c_int), parameter :: tessera_own = 5

  !> tessera_type
  integer(c_int), parameter :: tessera_double = 0
  integer(c_int), parameter :: tessera_float = 1
  integer(c_int), parameter :: tessera_int32 = 2
  integer(c_int), parameter :: tessera_int64 = 3

  !> Units begin to end - 1.
  type, bind(c) :: tessera_range
    integer(c_int64_t) :: begin
    integer(c_int64_t) :: end
  end type

  type, bind(c) :: tessera_host_tile
    type(tessera_range) :: range
    integer(c_int32_t) :: thread
    integer(c_int32_t) :: threads
    integer(c_int32_t) :: device
    integer(c_int32_t) :: lane
  end type

  type, bind(c) :: tessera_options
    integer(c_int32_t) :: version = 3
    integer(c_int32_t) :: policy = tessera_policy_auto
    integer(c_int32_t) :: on_device_failure = tessera_on_failure_cpu
    integer(c_int32_t) :: allow_sharing = 0
    integer(c_int32_t) :: threads = 0
    real(c_double) :: collective_timeout_seconds = 1800.0_c_double
    real(c_double) :: memory_fraction = 0.5_c_double
    integer(c_int32_t) :: parts_in_flight = 2
    integer(c_int32_t) :: may_move_units = 0
    integer(c_int32_t) :: hosts = 0
    integer(c_int32_t) :: score_model = tessera_score_throughput
    type(c_funptr) :: measure = c_null_funptr
    type(c_funptr) :: measure_on_host = c_null_funptr
    type(c_ptr) :: measure_context = c_null_ptr
    type(c_ptr) :: stop = c_null_ptr
  end type

  type, bind(c) :: tessera_failure
    integer(c_int32_t) :: rank
    integer(c_int32_t) :: device
    type(c_ptr) :: hostname
    type(c_ptr) :: uuid
    type(c_ptr) :: stage
    type(c_ptr) :: reason
  end type

  type, bind(c) :: tessera_verdict
    integer(c_int32_t) :: ran
    integer(c_int32_t) :: devices
    integer(c_int32_t) :: hosts
    integer(c_int32_t) :: simulated
    integer(c_int32_t) :: busiest_rank
    integer(c_int32_t) :: excluded_count
    type(c_ptr) :: excluded
    type(c_ptr) :: failure
    real(c_double) :: imbalance
    type(c_ptr) :: absence
    type(c_ptr) :: reason
    integer(c_int32_t) :: shares
  end type

  type, bind(c) :: tessera_array_use
    type(c_ptr) :: array
    integer(c_int32_t) :: use
  end type

  type, bind(c) :: tessera_double_at
    real(c_double) :: value
    integer(c_int64_t) :: at
  end type

  type, bind(c) :: tessera_float_at
    real(c_float) :: value
    integer(c_int64_t) :: at
  end type

  type, bind(c) :: tessera_int32_at
    integer(c_int32_t) :: value
    integer(c_int64_t) :: at
  end type

  type, bind(c) :: tessera_int64_at
    integer(c_int64_t) :: value
    integer(c_int64_t) :: at
  end type

  type, bind(c) :: tessera_reducer
    integer(c_int32_t) :: operation = tessera_sum
    integer(c_int32_t) :: type = tessera_double
    integer(c_int64_t) :: count = 1
    integer(c_size_t) :: value_bytes = 0
    type(c_ptr) :: identity = c_null_ptr
    type(c_funptr) :: combine = c_null_funptr
    type(c_ptr) :: context = c_null_ptr
  end type

  type, bind(c) :: tessera_fingerprint_entry
    type(c_ptr) :: name
    type(c_ptr) :: value
  end type

  !> Functions of the program.
  abstract interface
    function tessera_device_measure(tile, context) bind(c) result(units)
      import
      type(c_ptr), value :: tile, context
      integer(c_int64_t) :: units
    end function
    function tessera_host_measure(tile, context) bind(c) result(units)
      import
      type(tessera_host_tile), intent(in) :: tile
      type(c_ptr), value :: context
      integer(c_int64_t) :: units
    end function
    function tessera_work(context) bind(c) result(failed)
      import
      type(c_ptr), value :: context
      integer(c_int) :: failed
    end function
    function tessera_weight(unit, context) bind(c) result(weight)
      import
      integer(c_int64_t), value :: unit
      type(c_ptr), value :: context
      real(c_double) :: weight
    end function
    function tessera_device_function(tile, units, context) bind(c) result(failed)
      import
      type(c_ptr), value :: tile, units, context
      integer(c_int) :: failed
    end function
    function tessera_host_function(tile, units, context) bind(c) result(failed)
      import
      type(tessera_host_tile), intent(in) :: tile
      type(c_ptr), value :: units, context
      integer(c_int) :: failed
    end function
    function tessera_device_map(tile, units, results, context) bind(c) result(failed)
      import
      type(c_ptr), value :: tile, units, results, context
      integer(c_int) :: failed
    end function
    function tessera_host_map(tile, units, results, context) bind(c) result(failed)
      import
      type(tessera_host_tile), intent(in) :: tile
      type(c_ptr), value :: units, results, context
      integer(c_int) :: failed
    end function
    function tessera_device_reduction(tile, sum, context) bind(c) result(failed)
      import
      type(c_ptr), value :: tile, sum, context
      integer(c_int) :: failed
    end function
    function tessera_host_reduction(tile, partial, context) bind(c) result(failed)
      import
      type(tessera_host_tile), intent(in) :: tile
      real(c_double), intent(inout) :: partial(*)
      type(c_ptr), value :: context
      integer(c_int) :: failed
    end function
    function tessera_device_update(tile, arrays, context) bind(c) result(failed)
      import
      type(c_ptr), value :: tile, context
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int) :: failed
    end function
    function tessera_host_update(tile, arrays, context) bind(c) result(failed)
      import
      type(tessera_host_tile), intent(in) :: tile
      type(c_ptr), intent(in) :: arrays(*)
      type(c_ptr), value :: context
      integer(c_int) :: failed
    end function
    function tessera_device_array_reduction(tile, sum, arrays, context) bind(c) result(failed)
      import
      type(c_ptr), value :: tile, sum, context
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int) :: failed
    end function
    function tessera_host_array_reduction(tile, partial, arrays, context) bind(c) result(failed)
      import
      type(tessera_host_tile), intent(in) :: tile
      real(c_double), intent(inout) :: partial(*)
      type(c_ptr), intent(in) :: arrays(*)
      type(c_ptr), value :: context
      integer(c_int) :: failed
    end function
    function tessera_device_array_function(tile, values, arrays, context) bind(c) result(failed)
      import
      type(c_ptr), value :: tile, values, context
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int) :: failed
    end function
    function tessera_host_array_function(tile, values, arrays, context) bind(c) result(failed)
      import
      type(tessera_host_tile), intent(in) :: tile
      type(c_ptr), value :: values, context
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int) :: failed
    end function
    subroutine tessera_combine(left, right, context) bind(c)
      import
      type(c_ptr), value :: left, right, context
    end subroutine
  end interface

  interface
    function tessera_c_version() bind(c) result(answer)
      import
      integer(c_int32_t) :: answer
    end function
    function tessera_library_version() bind(c) result(text)
      import
      type(c_ptr) :: text
    end function
    function tessera_error() bind(c) result(text)
      import
      type(c_ptr) :: text
    end function
    subroutine tessera_watch_exits(watched) bind(c)
      import
      integer(c_int32_t), value :: watched
    end subroutine
    function tessera_job_open(comm, options, job) bind(c, name="tessera_job_open_fortran") result(status)
      import
      integer(c_int), value :: comm
      type(tessera_options), intent(in), optional :: options
      type(c_ptr), intent(out) :: job
      integer(c_int) :: status
    end function
    subroutine tessera_job_close(job) bind(c)
      import
      type(c_ptr), value :: job
    end subroutine
    function tessera_job_on_host(job) bind(c) result(answer)
      import
      type(c_ptr), value :: job
      integer(c_int32_t) :: answer
    end function
    function tessera_job_verdict(job) bind(c) result(text)
      import
      type(c_ptr), value :: job
      type(c_ptr) :: text
    end function
    function tessera_job_last_verdict(job) bind(c) result(pointer)
      import
      type(c_ptr), value :: job
      type(c_ptr) :: pointer
    end function
    function tessera_job_run_alive(job, work, context) bind(c) result(status)
      import
      type(c_ptr), value :: job, context
      type(c_funptr), value :: work
      integer(c_int) :: status
    end function
    function tessera_plan_open(job, units, block, plan) bind(c) result(status)
      import
      type(c_ptr), value :: job
      integer(c_int64_t), value :: units, block
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: status
    end function
    function tessera_plan_open_weighted(job, units, block, weight, context, plan) bind(c) result(status)
      import
      type(c_ptr), value :: job, context
      integer(c_int64_t), value :: units, block
      type(c_funptr), value :: weight
      type(c_ptr), intent(out) :: plan
      integer(c_int) :: status
    end function
    subroutine tessera_plan_close(plan) bind(c)
      import
      type(c_ptr), value :: plan
    end subroutine
    function tessera_plan_local_range(plan) bind(c) result(units)
      import
      type(c_ptr), value :: plan
      type(tessera_range) :: units
    end function
    function tessera_plan_range_of(plan, rank, range) bind(c) result(status)
      import
      type(c_ptr), value :: plan
      integer(c_int32_t), value :: rank
      type(tessera_range), intent(out) :: range
      integer(c_int) :: status
    end function
    function tessera_tile_range(tile) bind(c) result(units)
      import
      type(c_ptr), value :: tile
      type(tessera_range) :: units
    end function
    function tessera_tile_whole(tile) bind(c) result(units)
      import
      type(c_ptr), value :: tile
      type(tessera_range) :: units
    end function
    function tessera_tile_device(tile) bind(c) result(answer)
      import
      type(c_ptr), value :: tile
      integer(c_int32_t) :: answer
    end function
    function tessera_tile_lane(tile) bind(c) result(answer)
      import
      type(c_ptr), value :: tile
      integer(c_int32_t) :: answer
    end function
    function tessera_tile_memory_budget(tile) bind(c) result(answer)
      import
      type(c_ptr), value :: tile
      integer(c_int64_t) :: answer
    end function
    function tessera_tile_capability(tile) bind(c) result(answer)
      import
      type(c_ptr), value :: tile
      integer(c_int32_t) :: answer
    end function
    function tessera_tile_stream(tile) bind(c) result(pointer)
      import
      type(c_ptr), value :: tile
      type(c_ptr) :: pointer
    end function
    function tessera_tile_memory(tile, bytes) bind(c) result(pointer)
      import
      type(c_ptr), value :: tile
      integer(c_size_t), value :: bytes
      type(c_ptr) :: pointer
    end function
    function tessera_tile_stopping(tile) bind(c) result(answer)
      import
      type(c_ptr), value :: tile
      integer(c_int32_t) :: answer
    end function
    subroutine tessera_tile_fail(tile, reason) bind(c)
      import
      type(c_ptr), value :: tile
      character(kind=c_char), intent(in), optional :: reason(*)
    end subroutine
    function tessera_scatter(job, plan, units, count, unit_bytes, device_bytes_per_unit, on_device, on_host, &
                             context) bind(c) result(status)
      import
      type(c_ptr), value :: job, plan, units, context
      integer(c_int64_t), value :: count
      integer(c_size_t), value :: unit_bytes, device_bytes_per_unit
      type(c_funptr), value :: on_device, on_host
      integer(c_int) :: status
    end function
    function tessera_map(job, plan, units, count, unit_bytes, results, result_bytes, device_bytes_per_unit, &
                         on_device, on_host, context) bind(c) result(status)
      import
      type(c_ptr), value :: job, plan, units, results, context
      integer(c_int64_t), value :: count
      integer(c_size_t), value :: unit_bytes, result_bytes, device_bytes_per_unit
      type(c_funptr), value :: on_device, on_host
      integer(c_int) :: status
    end function
    function tessera_reduce(job, plan, width, device_bytes_per_unit, on_device, on_host, context, result) bind(c) &
        result(status)
      import
      type(c_ptr), value :: job, plan, context
      integer(c_size_t), value :: width, device_bytes_per_unit
      type(c_funptr), value :: on_device, on_host
      real(c_double), intent(out) :: result(*)
      integer(c_int) :: status
    end function
    function tessera_sum_add(sum, block) bind(c) result(status)
      import
      type(c_ptr), value :: sum
      real(c_double), intent(in) :: block(*)
      integer(c_int) :: status
    end function
    function tessera_reduce_by(job, plan, reducer, device_bytes_per_unit, on_device, on_host, context, result) bind(c) &
        result(status)
      import
      type(c_ptr), value :: job, plan, context, result
      type(tessera_reducer), intent(in) :: reducer
      integer(c_size_t), value :: device_bytes_per_unit
      type(c_funptr), value :: on_device, on_host
      integer(c_int) :: status
    end function
    function tessera_move(job, from, to, units, count, unit_bytes, moved) bind(c) result(status)
      import
      type(c_ptr), value :: job, from, to, units, moved
      integer(c_int64_t), value :: count
      integer(c_size_t), value :: unit_bytes
      integer(c_int) :: status
    end function
    function tessera_array_open(job, plan, unit_bytes, array) bind(c) result(status)
      import
      type(c_ptr), value :: job, plan
      integer(c_size_t), value :: unit_bytes
      type(c_ptr), intent(out) :: array
      integer(c_int) :: status
    end function
    subroutine tessera_array_close(array) bind(c)
      import
      type(c_ptr), value :: array
    end subroutine
    function tessera_array_overwrite(array) bind(c) result(pointer)
      import
      type(c_ptr), value :: array
      type(c_ptr) :: pointer
    end function
    function tessera_array_host(array) bind(c) result(pointer)
      import
      type(c_ptr), value :: array
      type(c_ptr) :: pointer
    end function
    function tessera_array_version(array) bind(c) result(number)
      import
      type(c_ptr), value :: array
      integer(c_int64_t) :: number
    end function
    function tessera_array_host_version(array) bind(c) result(number)
      import
      type(c_ptr), value :: array
      integer(c_int64_t) :: number
    end function
    function tessera_array_move_to(array, plan) bind(c) result(status)
      import
      type(c_ptr), value :: array, plan
      integer(c_int) :: status
    end function
    function tessera_download(job, arrays, count) bind(c) result(status)
      import
      type(c_ptr), value :: job
      type(c_ptr), intent(in) :: arrays(*)
      integer(c_int32_t), value :: count
      integer(c_int) :: status
    end function
    function tessera_update(job, arrays, count, on_device, on_host, context) bind(c) result(status)
      import
      type(c_ptr), value :: job, context
      type(tessera_array_use), intent(in) :: arrays(*)
      integer(c_int32_t), value :: count
      type(c_funptr), value :: on_device, on_host
      integer(c_int) :: status
    end function
    function tessera_reduce_arrays(job, arrays, count, width, on_device, on_host, context, result) bind(c) &
        result(status)
      import
      type(c_ptr), value :: job, context
      type(tessera_array_use), intent(in) :: arrays(*)
      integer(c_int32_t), value :: count
      integer(c_size_t), value :: width
      type(c_funptr), value :: on_device, on_host
      real(c_double), intent(out) :: result(*)
      integer(c_int) :: status
    end function
    function tessera_reduce_arrays_by(job, arrays, count, reducer, on_device, on_host, context, result) bind(c) &
        result(status)
      import
      type(c_ptr), value :: job, context, result
      type(tessera_array_use), intent(in) :: arrays(*)
      integer(c_int32_t), value :: count
      type(tessera_reducer), intent(in) :: reducer
      type(c_funptr), value :: on_device, on_host
      integer(c_int) :: status
    end function
    function tessera_together(job, purpose, status, reason) bind(c) result(agreed)
      import
      type(c_ptr), value :: job
      character(kind=c_char), intent(in), optional :: purpose(*), reason(*)
      integer(c_int), value :: status
      integer(c_int) :: agreed
    end function
    function tessera_stop_open(comm, signals, count, time_limit_seconds, stop) bind(c, name="tessera_stop_open_fortran") &
        result(status)
      import
      integer(c_int), value :: comm
      integer(c_int32_t), intent(in), optional :: signals(*)
      integer(c_int32_t), value :: count
      real(c_double), value :: time_limit_seconds
      type(c_ptr), intent(out) :: stop
      integer(c_int) :: status
    end function
    subroutine tessera_stop_close(stop) bind(c)
      import
      type(c_ptr), value :: stop
    end subroutine
    function tessera_stop_request(stop, cause) bind(c) result(status)
      import
      type(c_ptr), value :: stop
      character(kind=c_char), intent(in), optional :: cause(*)
      integer(c_int) :: status
    end function
    function tessera_stop_requested(stop) bind(c) result(answer)
      import
      type(c_ptr), value :: stop
      integer(c_int32_t) :: answer
    end function
    function tessera_stop_poll(stop) bind(c) result(status)
      import
      type(c_ptr), value :: stop
      integer(c_int) :: status
    end function
    function tessera_stop_agree(stop, agreed) bind(c) result(status)
      import
      type(c_ptr), value :: stop
      integer(c_int32_t), intent(out) :: agreed
      integer(c_int) :: status
    end function
    function tessera_stop_cause(stop) bind(c) result(text)
      import
      type(c_ptr), value :: stop
      type(c_ptr) :: text
    end function
    function tessera_checkpoint_open(job, path, fingerprint, count, checkpoint) bind(c) result(status)
      import
      type(c_ptr), value :: job
      character(kind=c_char), intent(in) :: path(*)
      type(tessera_fingerprint_entry), intent(in) :: fingerprint(*)
      integer(c_int32_t), value :: count
      type(c_ptr), intent(out) :: checkpoint
      integer(c_int) :: status
    end function
    subroutine tessera_checkpoint_close(checkpoint) bind(c)
      import
      type(c_ptr), value :: checkpoint
    end subroutine
    function tessera_checkpoint_state(checkpoint, bytes) bind(c) result(pointer)
      import
      type(c_ptr), value :: checkpoint
      integer(c_size_t), intent(out) :: bytes
      type(c_ptr) :: pointer
    end function
    function tessera_checkpoint_remark(checkpoint, index) bind(c) result(text)
      import
      type(c_ptr), value :: checkpoint
      integer(c_int32_t), value :: index
      type(c_ptr) :: text
    end function
    function tessera_checkpoint_generation(checkpoint) bind(c) result(number)
      import
      type(c_ptr), value :: checkpoint
      integer(c_int64_t) :: number
    end function
    function tessera_checkpoint_save(checkpoint, state, bytes) bind(c) result(status)
      import
      type(c_ptr), value :: checkpoint, state
      integer(c_size_t), value :: bytes
      integer(c_int) :: status
    end function
    function tessera_checkpoint_is_saved(checkpoint) bind(c) result(answer)
      import
      type(c_ptr), value :: checkpoint
      integer(c_int32_t) :: answer
    end function
    subroutine tessera_checkpoint_remove(checkpoint) bind(c)
      import
      type(c_ptr), value :: checkpoint
    end subroutine
    subroutine tessera_copy_text(text, copy, length) bind(c)
      import
      type(c_ptr), value :: text
      character(kind=c_char), intent(out) :: copy(*)
      integer(c_size_t), value :: length
    end subroutine
  end interface

end module
