! SPDX-License-Identifier: Apache-2.0
! Uses the module as a program would: options, passes over units and arrays, texts, the verdict, a stop
! request and a checkpoint, in its working directory. Ends with status 1 on any unexpected result.
module functions
  use, intrinsic :: iso_c_binding
  use tessera
  implicit none

contains

  function fill(tile, arrays, context) bind(c) result(failed)
    type(tessera_host_tile), intent(in) :: tile
    type(c_ptr), intent(in) :: arrays(*)
    type(c_ptr), value :: context
    integer(c_int) :: failed
    integer(c_int64_t), pointer :: values(:)
    integer(c_int64_t) :: i
    failed = merge(1, 0, c_associated(context))
    call c_f_pointer(arrays(1), values, [tile%range%end - tile%range%begin])
    values = [(i, i=tile%range%begin, tile%range%end - 1)]
  end function

  function double_on_host(tile, units, results, context) bind(c) result(failed)
    type(tessera_host_tile), intent(in) :: tile
    type(c_ptr), value :: units, results, context
    integer(c_int) :: failed
    integer(c_int64_t), pointer :: from(:)
    real(c_double), pointer :: to(:)
    failed = merge(1, 0, c_associated(context) .or. tile%thread >= tile%threads)
    call c_f_pointer(units, from, [tile%range%end - tile%range%begin])
    call c_f_pointer(results, to, [tile%range%end - tile%range%begin])
    to = 2 * real(from, c_double)
  end function

  function furthest(tile, value, context) bind(c) result(failed)
    type(tessera_host_tile), intent(in) :: tile
    type(c_ptr), value :: value, context
    integer(c_int) :: failed
    type(tessera_int64_at), pointer :: most
    integer(c_int64_t) :: unit
    failed = merge(1, 0, c_associated(context))
    call c_f_pointer(value, most)
    do unit = tile%range%begin, tile%range%end - 1
      if (modulo(unit * 7, 1000_c_int64_t) > most%value) most = tessera_int64_at(modulo(unit * 7, 1000_c_int64_t), unit)
    end do
  end function

  function sixes(tile, value, arrays, context) bind(c) result(failed)
    type(tessera_host_tile), intent(in) :: tile
    type(c_ptr), value :: value, context
    type(c_ptr), intent(in) :: arrays(*)
    integer(c_int) :: failed
    integer(c_int64_t), pointer :: units(:)
    integer(c_int64_t), target :: number
    integer :: i
    failed = merge(1, 0, c_associated(context))
    call c_f_pointer(arrays(1), units, [tile%range%end - tile%range%begin])
    do i = 1, size(units)
      number = 6 * units(i)
      call divide(value, c_loc(number), context)
    end do
  end function

  !> The greatest common divisor.
  subroutine divide(left, right, context) bind(c)
    type(c_ptr), value :: left, right, context
    integer(c_int64_t), pointer :: divisor, other
    integer(c_int64_t) :: rest, next
    if (c_associated(context)) return
    call c_f_pointer(left, divisor)
    call c_f_pointer(right, other)
    rest = other
    do while (rest /= 0)
      next = modulo(divisor, rest)
      divisor = rest
      rest = next
    end do
  end subroutine

  function never_on_device(tile, units, results, context) bind(c) result(failed)
    type(c_ptr), value :: tile, units, results, context
    integer(c_int) :: failed
    failed = merge(0, 1, c_associated(units, results) .and. c_associated(context))
    call tessera_tile_fail(tile, 'there is none' // c_null_char)
  end function

  function measure(tile, context) bind(c) result(units)
    type(tessera_host_tile), intent(in) :: tile
    type(c_ptr), value :: context
    integer(c_int64_t) :: units
    integer(c_int), pointer :: ranks
    call c_f_pointer(context, ranks)
    units = merge(1_c_int64_t, tile%range%begin, ranks == 2)
  end function

  function measure_on_device(tile, context) bind(c) result(units)
    type(c_ptr), value :: tile, context
    integer(c_int64_t) :: units
    units = merge(1, 0, c_associated(tile, context))
  end function

  function weight(unit, context) bind(c) result(work)
    integer(c_int64_t), value :: unit
    type(c_ptr), value :: context
    real(c_double) :: work
    work = merge(1, 2, c_associated(context) .or. unit < 10)
  end function

end module

program main
  use, intrinsic :: iso_c_binding
  use mpi
  use tessera
  use functions
  implicit none
  type(c_ptr) :: job, plan, weighted, array, stop_request, checkpoint
  type(tessera_options) :: options
  type(tessera_range) :: mine, same
  type(tessera_verdict), pointer :: verdict
  type(tessera_failure), pointer :: failures(:)
  type(tessera_fingerprint_entry) :: fingerprint(1)
  character(kind=c_char, len=8), target :: name = 'program' // c_null_char, its_value = 'fortran' // c_null_char
  character(200) :: text
  character(6), target :: state
  character(6), pointer :: saved
  integer(c_int64_t), pointer :: on_host(:)
  real(c_double), allocatable, target :: doubled(:)
  type(tessera_int64_at), target :: most
  integer(c_int64_t), target :: divisor = -1, none = 0
  integer(c_int), target :: ranks
  integer(c_int32_t) :: agreed
  integer(c_size_t) :: bytes
  integer :: level, rank, error

  call MPI_Init_thread(MPI_THREAD_FUNNELED, level, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call check(tessera_c_version() == options%version, 'the versions of header and library')
  call check(tessera_job_open(MPI_COMM_WORLD, tessera_options(threads=-1), job) == tessera_usage, 'a wrong option')
  call tessera_copy_text(tessera_error(), text, len(text, kind=c_size_t))
  call check(index(text, 'threads') > 0, 'the message ' // text)

  call check_ok(tessera_stop_open(MPI_COMM_WORLD, [10_c_int32_t], 1, 0.0_c_double, stop_request))
  options%on_device_failure = tessera_on_failure_exclude
  options%may_move_units = 1
  options%score_model = tessera_score_measured
  options%measure = c_funloc(measure_on_device)
  options%measure_on_host = c_funloc(measure)
  options%measure_context = c_loc(ranks)
  options%stop = stop_request
  call check_ok(tessera_job_open(MPI_COMM_WORLD, options, job))
  call check(tessera_job_on_host(job) == 0, 'measured scores')

  call check_ok(tessera_plan_open(job, 1000_c_int64_t, 10_c_int64_t, plan))
  mine = tessera_plan_local_range(plan)
  call check_ok(tessera_plan_range_of(plan, rank, same))
  call check(same%begin == mine%begin .and. same%end == mine%end, 'the range of a rank')
  call check_ok(tessera_plan_open_weighted(job, 1000_c_int64_t, 1_c_int64_t, c_funloc(weight), c_null_ptr, weighted))

  call check_ok(tessera_array_open(job, plan, c_sizeof(0_c_int64_t), array))
  call check_ok(tessera_update(job, [tessera_array_use(array, tessera_write)], 1, c_null_funptr, c_funloc(fill), &
                               c_null_ptr))
  call check_ok(tessera_download(job, [array], 1))
  call c_f_pointer(tessera_array_host(array), on_host, [mine%end - mine%begin])
  call check(tessera_array_version(array) == 1 .and. all(on_host(:1) == mine%begin), 'an array')
  call check_ok(tessera_reduce_by(job, plan, tessera_reducer(tessera_maximum_at, tessera_int64), 0_c_size_t, &
                                  c_null_funptr, c_funloc(furthest), c_null_ptr, c_loc(most)))
  call check(most%value == 999 .and. most%at == 857, 'a maximum and its place')
  call check_ok(tessera_reduce_arrays_by(job, [tessera_array_use(array, tessera_read)], 1, &
                                         tessera_reducer(operation=tessera_own, value_bytes=8, identity=c_loc(none), &
                                                         combine=c_funloc(divide)), &
                                         c_null_funptr, c_funloc(sixes), c_null_ptr, c_loc(divisor)))
  call check(divisor == 6, 'an operation of the program')
  allocate (doubled(size(on_host)))
  call check_ok(tessera_map(job, plan, c_loc(on_host), size(on_host, kind=c_int64_t), c_sizeof(0_c_int64_t), &
                            c_loc(doubled), c_sizeof(0.0_c_double), 0_c_size_t, c_funloc(never_on_device), &
                            c_funloc(double_on_host), c_null_ptr))
  call check(all(doubled == 2 * real(on_host, c_double)), 'a map')

  ! TESSERA_SIMULATE gives each rank two devices; TESSERA_FAULT, if set, makes the second one of rank 0 fail.
  call c_f_pointer(tessera_job_last_verdict(job), verdict)
  call check(verdict%ran == tessera_ran_devices .and. verdict%simulated == 1 .and. verdict%imbalance == 1, 'the verdict')
  if (verdict%excluded_count > 0) then
    call c_f_pointer(verdict%excluded, failures, [verdict%excluded_count])
    call tessera_copy_text(failures(1)%stage, text, len(text, kind=c_size_t))
    call check(failures(1)%rank == 0 .and. failures(1)%device == 1 .and. text == 'tile', 'the devices that were left out')
  end if

  fingerprint = tessera_fingerprint_entry(c_loc(name), c_loc(its_value))
  call check_ok(tessera_checkpoint_open(job, 'verbs.checkpoint' // c_null_char, fingerprint, 1, checkpoint))
  state = 'step 1'
  call check_ok(tessera_checkpoint_save(checkpoint, c_loc(state), len(state, kind=c_size_t)))
  call tessera_checkpoint_close(checkpoint)
  call check_ok(tessera_checkpoint_open(job, 'verbs.checkpoint' // c_null_char, fingerprint, 1, checkpoint))
  call c_f_pointer(tessera_checkpoint_state(checkpoint, bytes), saved)
  call check(bytes == 6 .and. saved == 'step 1', 'a checkpoint')
  call tessera_checkpoint_remove(checkpoint)
  call tessera_checkpoint_close(checkpoint)

  if (rank == 0) call check_ok(tessera_stop_request(stop_request, 'enough' // c_null_char))
  call check_ok(tessera_stop_agree(stop_request, agreed))
  call check(agreed == 1, 'a stop request')
  call check(tessera_update(job, [tessera_array_use(array, tessera_modify)], 1, c_null_funptr, c_funloc(fill), &
                            c_null_ptr) == tessera_interrupted, 'a pass after it')
  call check(tessera_together(job, reason='no file' // c_null_char, status=tessera_input) == tessera_input, 'together')

  call tessera_copy_text(tessera_library_version(), text, len(text, kind=c_size_t))
  if (rank == 0) print '(3a, i0, a)', 'tessera ', trim(text), ' from Fortran: ', verdict%excluded_count, ' left out'
  call tessera_array_close(array)
  call tessera_plan_close(weighted)
  call tessera_plan_close(plan)
  call tessera_job_close(job)
  call tessera_stop_close(stop_request)
  call MPI_Finalize(error)

contains

  subroutine check_ok(status)
    integer(c_int), intent(in) :: status
    call tessera_copy_text(tessera_error(), text, len(text, kind=c_size_t))
    call check(status == tessera_ok, text)
  end subroutine

  subroutine check(is_right, what)
    logical, intent(in) :: is_right
    character(*), intent(in) :: what
    if (is_right) return
    print '(2a)', 'not as it should be: ', trim(what)
    call MPI_Abort(MPI_COMM_WORLD, 1, error)
  end subroutine

end program
